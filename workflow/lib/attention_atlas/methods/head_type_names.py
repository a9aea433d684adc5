"""Names of the types of heads by distance (Guan et al. 2020); imports nothing heavy."""

DENSE, DENSE_VERTICAL, VERTICAL, DIAGONAL = "dense", "dense_vertical", "vertical", "diagonal"

TYPES = (DENSE, DENSE_VERTICAL, VERTICAL, DIAGONAL)

TITLES = {DENSE: "Dense", DENSE_VERTICAL: "Dense & vertical", VERTICAL: "Vertical", DIAGONAL: "Diagonal"}
