"""One case again, by its seed: python -m tests.prove.fuzz values fixed:2 17"""

import sys

from tests.prove.fuzz.cases import case, findings

if __name__ == "__main__":
    kind, format, number = sys.argv[1:4]
    print(case(kind, format, int(number)))
    found = findings(kind, format, int(number))
    print(dict(found.said), *(found.wrong or ["all agree"]), sep="\n")
