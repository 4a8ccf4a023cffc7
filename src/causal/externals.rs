//! What functions do that the program does not define: the specifications of the C library's.

/// What a function of a library does with memory. Arguments are told by their place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct External {
    /// Its result is new memory.
    pub allocates: bool,
    /// Its result is, or points into what is, one of its arguments.
    pub returns: Option<usize>,
    /// What these point to is read, ...
    pub reads: &'static [usize],
    /// ... and goes to what this one points to.
    pub writes: Option<usize>,
    /// How much of that.
    pub extent: Extent,
    /// Its result depends on its arguments.
    pub is_computed: bool,
}

/// How much of the memory that it is given a function accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    Whole,
    /// Characters up to the last one, which are one array.
    Text,
    Bytes(u64),
    /// As many bytes as the product of these arguments.
    Counted(&'static [usize]),
}

const NOTHING: External =
    External { allocates: false, returns: None, reads: &[], writes: None, extent: Extent::Whole, is_computed: true };
const NEW: External = External { allocates: true, is_computed: false, ..NOTHING };
const COPY: External =
    External { returns: Some(0), reads: &[1], writes: Some(0), extent: Extent::Counted(&[2]), ..NOTHING };
const FILL: External = External { returns: Some(0), writes: Some(0), extent: Extent::Counted(&[2]), ..NOTHING };
const LOOK: External = External { reads: &[0], extent: Extent::Text, ..NOTHING };
const COMPARE: External = External { reads: &[0, 1], extent: Extent::Text, ..NOTHING };
const FIND: External = External { returns: Some(0), reads: &[0], extent: Extent::Text, ..NOTHING };
const SHOW: External = External { reads: &[0, 1, 2, 3, 4, 5, 6, 7], extent: Extent::Text, ..NOTHING };
const PRINT: External = External { reads: &[1, 2, 3, 4, 5, 6, 7], writes: Some(0), extent: Extent::Text, ..NOTHING };
const SEND: External = External { reads: &[1], extent: Extent::Counted(&[2]), ..NOTHING };
const RECEIVE: External = External { writes: Some(1), extent: Extent::Counted(&[2]), ..NOTHING };

const TABLE: &[(External, &[&str])] = &[
    (
        NEW,
        &[
            "malloc",
            "calloc",
            "aligned_alloc",
            "memalign",
            "_Znwm",
            "_Znam",
            "_ZnwmSt11align_val_t",
            "_ZnamSt11align_val_t",
        ],
    ),
    (External { returns: Some(0), ..NEW }, &["realloc", "reallocarray"]),
    (External { reads: &[0], extent: Extent::Text, is_computed: true, ..NEW }, &["strdup", "strndup"]),
    (COPY, &["memcpy", "memmove", "mempcpy", "__memcpy_chk", "__memmove_chk"]),
    (External { extent: Extent::Text, ..COPY }, &["strcpy", "strncpy", "stpcpy", "strcat", "strncat"]),
    (FILL, &["memset", "__memset_chk"]),
    (External { extent: Extent::Text, ..FILL }, &["fgets"]),
    (External { extent: Extent::Counted(&[1]), ..FILL }, &["bzero"]),
    (External { returns: None, extent: Extent::Counted(&[1]), ..FILL }, &["getrandom"]),
    (External { returns: None, extent: Extent::Counted(&[1, 2]), ..FILL }, &["fread"]),
    (External { returns: None, extent: Extent::Bytes(8), ..FILL }, &["time"]),
    (External { extent: Extent::Bytes(16), ..RECEIVE }, &["clock_gettime"]),
    (RECEIVE, &["read", "recv"]),
    (
        LOOK,
        &[
            "strlen", "strnlen", "atoi", "atol", "atoll", "atof", "strtol", "strtoul", "strtoll", "strtoull", "puts",
            "fputs",
        ],
    ),
    (SHOW, &["printf", "fprintf", "dprintf", "__printf_chk", "__fprintf_chk"]),
    (SEND, &["write", "send"]),
    (External { extent: Extent::Counted(&[1, 2]), ..LOOK }, &["fwrite"]),
    (COMPARE, &["strcmp", "strncmp", "strcasecmp", "strncasecmp"]),
    (External { extent: Extent::Counted(&[2]), ..COMPARE }, &["memcmp", "bcmp"]),
    (FIND, &["strchr", "strrchr", "strstr", "strpbrk"]),
    (External { extent: Extent::Counted(&[2]), ..FIND }, &["memchr"]),
    // The nodes of std::set and std::map, and of std::list: what hangs at the container changes.
    (
        External { reads: &[2], writes: Some(3), is_computed: false, ..NOTHING },
        &["_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_"],
    ),
    (
        External { returns: Some(0), writes: Some(1), ..NOTHING },
        &["_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_"],
    ),
    (
        External { extent: Extent::Whole, ..FIND },
        &[
            "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
            "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
            "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
            "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
        ],
    ),
    (External { writes: Some(1), ..NOTHING }, &["_ZNSt8__detail15_List_node_base7_M_hookEPS0_"]),
    (
        External { writes: Some(0), ..NOTHING },
        &["_ZNSt8__detail15_List_node_base9_M_unhookEv", "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_"],
    ),
    (PRINT, &["sprintf", "snprintf", "vsprintf", "vsnprintf", "__sprintf_chk", "__snprintf_chk"]),
];

/// Of functions with such names the result tells only whether they worked.
const STATUS: &[&str] = &[
    "pthread_mutex_",
    "pthread_rwlock_",
    "pthread_spin_",
    "pthread_cond_",
    "pthread_barrier_",
    "sem_",
    "mtx_",
    "cnd_",
];

/// Functions that do not go by what lies in the memory that they are given, or of which all that they do is known otherwise.
const BLIND: &[&str] =
    &["free", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm", "pthread_self", "pthread_create", "pthread_join"];

/// Whether what a function of a library does next has nothing to do with the values in memory that it is given.
#[must_use]
pub fn looks_at_nothing(name: &str) -> bool {
    name.starts_with("llvm.") || BLIND.contains(&name) || STATUS.iter().any(|prefix| name.starts_with(prefix))
}

/// What is known of an undefined function. Of one that nobody described, the result depends on the arguments.
#[must_use]
pub fn of(name: &str) -> External {
    if STATUS.iter().any(|prefix| name.starts_with(prefix)) {
        return External { is_computed: false, ..NOTHING };
    }
    for (prefix, external) in [("llvm.memcpy.", COPY), ("llvm.memmove.", COPY), ("llvm.memset.", FILL)] {
        if name.starts_with(prefix) {
            return external;
        }
    }
    TABLE.iter().find(|(_, names)| names.contains(&name)).map_or(NOTHING, |(external, _)| *external)
}
