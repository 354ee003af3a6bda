//! Provider and ProviderClass.
