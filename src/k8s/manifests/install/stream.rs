//! Objects as one YAML stream for `kubectl apply -f -`.
use super::Object;

/// One document per object, in order, each under its comment.
///
/// # Errors
/// None is expected: a body that cannot be written as YAML.
pub fn yaml(objects: &[Object]) -> Result<String, serde_saphyr::SerializeError> {
    let mut stream = String::new();
    for object in objects {
        stream.push_str(&format!("---\n# {}\n", object.comment));
        stream.push_str(&serde_saphyr::to_string(&object.body)?);
    }
    Ok(stream)
}
