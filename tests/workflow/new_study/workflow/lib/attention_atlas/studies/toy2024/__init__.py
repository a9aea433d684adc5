"""Example study (2024), Do Heads Attend to Their Own Token? A made-up paper that shows what a study consists of."""
