// The pause image of the end-to-end cluster: the standard library only.
module banlieue.io/e2e/tools/pause

go 1.26.0
