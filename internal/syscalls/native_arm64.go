package syscalls

// Native is the architecture that this program was built for.
var Native = &ARM64
