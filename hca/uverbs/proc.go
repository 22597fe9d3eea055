package uverbs

// maxProcs is how many processes can share a context after fork.
const maxProcs = 16
