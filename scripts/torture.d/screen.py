"""A terminal's screen: what a program that draws with cursor moves shows at the moment."""

import re

# A sequence that begins with ESC, or a character.
PIECES = re.compile(r"\x1b\[([?>=]?)([0-9;]*)([@-~])|\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78cDEHM]|(\x1b.{0,40}\Z)|(.)", re.S)


class Screen:
    """The characters of a screen of a fixed size. It knows the sequences that such programs use, and no colours."""

    def __init__(self, columns=200, rows=50):
        self.columns, self.rows = columns, rows
        self.row = self.column = 0
        self.rest = ""
        self.clear()

    def clear(self):
        self.cells = [[" "] * self.columns for _ in range(self.rows)]

    def feed(self, text):
        """Takes output in; an incomplete sequence at the end waits for more."""
        text, self.rest = self.rest + text, ""
        for piece in PIECES.finditer(text):
            _, numbers, final, incomplete, character = piece.groups()
            if incomplete:
                self.rest = incomplete
            elif final:
                self.sequence(final, [int(number or 0) for number in numbers.split(";")] if numbers else [])
            elif character:
                self.put(character)

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row = min(self.row + 1, self.rows - 1)
        elif character == "\b":
            self.column = max(self.column - 1, 0)
        elif character >= " ":
            if self.column < self.columns:
                self.cells[self.row][self.column] = character
            self.column += 1

    def sequence(self, final, numbers):
        first = numbers[0] if numbers else 0
        if final in "Hf":
            self.row = min(max(first, 1), self.rows) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif final in "ABCD":
            by = max(first, 1)
            self.row = min(max(self.row + {"A": -by, "B": by}.get(final, 0), 0), self.rows - 1)
            self.column = min(max(self.column + {"C": by, "D": -by}.get(final, 0), 0), self.columns - 1)
        elif final == "G":
            self.column = max(first, 1) - 1
        elif final == "J" and first in (2, 3):
            self.clear()
        elif final == "K":
            self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)

    def text(self):
        """The screen as text, without what is blank at the ends of its lines."""
        return "\n".join("".join(row).rstrip() for row in self.cells)
