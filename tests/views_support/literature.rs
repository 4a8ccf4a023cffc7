//! What the literature says of the programs: the tables of "Precise Detection of Atomicity Violations" (Pessanha, Dias, Lourenço).

/// Violations that were missed, and reports that are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    pub missed: usize,
    pub invented: usize,
}

impl std::ops::Add for Figures {
    type Output = Figures;

    fn add(self, other: Figures) -> Figures {
        Figures { missed: self.missed + other.missed, invented: self.invented + other.invented }
    }
}

/// A row of one of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub program: &'static str,
    pub known: usize,
    pub moth: Figures,
    pub artho: Figures,
    /// That tool could not read the programs of the second table.
    pub teixeira: Option<Figures>,
}

const fn figures(missed: usize, invented: usize) -> Figures {
    Figures { missed, invented }
}

const fn small(program: &'static str, known: usize, missed: [usize; 3], invented: [usize; 3]) -> Row {
    let row = large(program, known, [missed[0], missed[1]], [invented[0], invented[1]]);
    Row { teixeira: Some(figures(missed[2], invented[2])), ..row }
}

const fn large(program: &'static str, known: usize, missed: [usize; 2], invented: [usize; 2]) -> Row {
    let moth = figures(missed[0], invented[0]);
    Row { program, known, moth, artho: figures(missed[1], invented[1]), teixeira: None }
}

/// Known violations, then false negatives and false positives of `MoTH`, Artho and Teixeira.
pub const TABLE_1: &[Row] = &[
    small("connection", 2, [0, 1, 1], [0, 0, 1]),
    small("coord03", 1, [0, 0, 0], [0, 0, 3]),
    small("local", 1, [0, 1, 0], [0, 0, 1]),
    small("nasa", 1, [0, 0, 0], [0, 0, 0]),
    small("coord04", 1, [0, 0, 0], [0, 0, 3]),
    small("buffer", 0, [0, 0, 0], [1, 0, 7]),
    small("double_check", 0, [0, 0, 0], [1, 0, 2]),
    small("string_buffer", 1, [0, 1, 1], [0, 0, 0]),
    small("account", 1, [0, 1, 0], [0, 0, 0]),
    small("jigsaw", 1, [0, 0, 0], [0, 0, 1]),
    small("over_reporting", 0, [0, 0, 0], [0, 0, 2]),
    small("under_reporting", 1, [0, 1, 0], [0, 0, 0]),
    small("allocate_vector", 1, [0, 1, 0], [0, 0, 1]),
    small("knight", 1, [0, 1, 0], [0, 0, 2]),
    small("arithmetic_database", 3, [0, 3, 1], [1, 0, 0]),
];

/// Known violations, then false negatives and false positives of `MoTH` and Artho.
pub const TABLE_2: &[Row] = &[
    large("elevator", 16, [0, 16], [6, 4]),
    large("philo", 0, [0, 0], [2, 0]),
    large("tsp", 0, [0, 0], [2, 0]),
    large("store", 2, [0, 1], [0, 1]),
];

pub fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE_1.iter().chain(TABLE_2)
}
