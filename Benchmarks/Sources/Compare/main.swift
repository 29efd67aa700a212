import Comparison
