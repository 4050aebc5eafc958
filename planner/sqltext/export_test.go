package sqltext

// Full is the kind of joins that the pass writes.
const Full = full
