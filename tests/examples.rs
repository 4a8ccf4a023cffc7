mod support; fn main() {}
