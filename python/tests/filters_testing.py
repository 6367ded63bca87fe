"""Filters for tests, and their results computed by NumPy in 32-bit floats."""

import millrace as mr
import numpy as np


class Picture(np.ndarray):
    """32-bit floats that are read like Image: x[dx, dy], with repeated edges."""

    def __getitem__(self, key):
        if not (isinstance(key, tuple) and all(isinstance(one, int) for one in key)):
            return super().__getitem__(key)
        rows, columns = (np.arange(length) for length in self.shape)
        rows = np.clip(rows + key[1], 0, self.shape[0] - 1)
        columns = np.clip(columns + key[0], 0, self.shape[1] - 1)
        return np.asarray(self)[np.ix_(rows, columns)].view(Picture)

    def at(self, column, row):
        def whole(place, length):
            return np.clip(np.floor(place), 0, length - 1).astype(np.intp)

        return np.asarray(self)[whole(row, self.shape[0]), whole(column, self.shape[1])].view(Picture)

    @property
    def column(self):
        return np.broadcast_to(np.arange(self.shape[1], dtype=np.float32), self.shape)

    @property
    def row(self):
        return np.broadcast_to(np.arange(self.shape[0], dtype=np.float32)[:, np.newaxis], self.shape)

    @property
    def width(self):
        return np.float32(self.shape[1])

    @property
    def height(self):
        return np.float32(self.shape[0])


class Resized:
    """Read like Image by a filter that changes the size."""

    def __init__(self, picture, shape):
        self.picture, self.shape = picture, shape
        self.width, self.height = picture.width, picture.height
        self.made_height, self.made_width = map(np.float32, shape)
        grid = np.zeros(shape, np.float32).view(Picture)
        self.column, self.row = grid.column, grid.row

    def at(self, column, row):
        return self.picture.at(column, row)

    def __getitem__(self, distance):
        return self.at(self.column + np.float32(distance[0]), self.row + np.float32(distance[1]))


def samples(image):
    return (image.astype(np.float32) / np.float32(np.iinfo(image.dtype).max)).view(Picture)


def codes(made, dtype):
    most = np.float32(np.iinfo(dtype).max)
    made = np.asarray(made)
    assert made.dtype == np.float32, made.dtype
    return np.floor(np.maximum(np.minimum(made, np.float32(1)), np.float32(0)) * most + np.float32(0.5)).astype(dtype)


def by_numpy(function, *images, **parameters):
    """Compute the function with NumPy, including the conversions at the ends of a pipeline."""
    made = function(*[samples(image) for image in images],
                    **{name: value if isinstance(value, mr.Table) else np.float32(value) for name, value in parameters.items()})
    return codes(made, images[0].dtype)


@mr.filter(ranges={"strength": (-16, 16)})
def emboss(x, strength=1.0):
    """relief, lit from the upper left"""
    return x + (x[1, 1] - x[-1, -1]) * strength


@mr.filter
def vignette(x):
    across = (x.column - x.width / 2) / x.width
    down = (x.row - x.height / 2) / x.height
    return x * (1 - (across**2 + down**2))


@mr.filter(ranges={"low": (0, 1), "high": (0, 1)})
def window_between(x, low=0.25, high=0.75):
    inside = (x >= low) & (x <= high) | ~(x != 0)
    return np.where(inside, x, np.sqrt(np.abs(x - 0.5)))


@mr.filter
def corners(x):
    """Ties, and numbers of either sign."""
    steps = np.rint(x * 6.5) / 7 - np.floor(x * 3) * 0.125
    return np.clip(np.maximum(steps, -x[2, 0]) + np.ceil(x[0, -3] * 2.5) * 0.1, 0.1, np.float32(0.9))


@mr.filter
def wide(x):
    total = x[-3, 0] * 0.0
    for dy in range(-2, 3):
        for dx in range(-3, 4):
            total = total + x[dx, dy] * (1.0 / (1 + dx * dx + dy * dy))
    return total / 5.5


@mr.filter
def warmer_of(a, b, *, share: float):
    return np.maximum(a[0, 1] * share, b * (1 - share))


# Reimplementations of built-in filters.
@mr.filter
def my_blur(x):
    row = [(x[-1, dy] + x[1, dy]) + (x[0, dy] + x[0, dy]) for dy in (-1, 0, 1)]
    return ((row[0] + row[2]) + (row[1] + row[1])) * 0.0625


@mr.filter(chroma="neutral")
def my_sobel_x(x):
    row = [x[1, dy] - x[-1, dy] for dy in (-1, 0, 1)]
    return (row[0] + row[2]) + (row[1] + row[1])


@mr.filter(chroma="neutral")
def my_sobel_y(x):
    column = [x[dx, 1] - x[dx, -1] for dx in (-1, 0, 1)]
    return (column[0] + column[2]) + (column[1] + column[1])


@mr.filter(chroma="neutral")
def my_magnitude(a, b):
    return mr.sqrt(a * a + b * b)


@mr.filter(ranges={"t": (-16, 16)}, chroma="neutral")
def my_threshold(x, *, t):
    return mr.where(x >= t, x, 0)


RANDOM = np.random.default_rng(7)
CURVE = np.linspace(1, 0, 300, dtype=np.float32) ** 2
KERNEL = RANDOM.normal(size=(5, 7)).astype(np.float32) * 0.1


@mr.filter
def bent(x):
    """A curve of NumPy's, between whose numbers lines are drawn."""
    place = x * 298.5
    left = mr.table(CURVE)[place]
    return left + (place - np.floor(place)) * (mr.table(CURVE)[place + 1] - left)


@mr.filter
def unrolled(x):
    total = x * 0.0
    for dy in range(5):
        for dx in range(7):
            total = total + x[dx - 3, dy - 2] * KERNEL[dy, dx]
    return total


@mr.filter
def repeated(x):
    """The same by two loops."""
    kernel = mr.table(KERNEL)
    return x * 0.0 + mr.total(kernel.length, lambda j: mr.total(
        kernel.columns, lambda i: x.at(x.column + (i - 3), x.row + (j - 2)) * kernel[j, i]))


@mr.filter(ranges={"share": (0, 4), "weights": (-4, 4)})
def along(x, share, *, weights: mr.Table):
    """Neighbours to the right, as many as there are weights."""
    found = mr.total(weights.length, lambda i: weights[i] * x.at(x.column + i, x.row))
    return x * (1 - share) + found * share / weights.length


@mr.filter
def displaced(x, by, *, far: float):
    """From where the second image says, held within bounds."""
    aside = np.clip((by - 0.5) * far, -far, far)
    return x.at(x.column + aside, x.row - aside)


@mr.filter
def last_of(x, *, several: mr.Table):
    """The greatest number below the pixel's, gone through one after the other."""
    return mr.fold(several.length, 0.0 * x, lambda so_far, i: np.where(several[i] < x, several[i], so_far))


@mr.filter(size=lambda width, height, by: (np.floor(width * by), np.rint(height * by)), ranges={"by": (0.01, 8)})
def scaled(x, by):
    """Linear between pixels."""
    column = (x.column + 0.5) * (x.width / x.made_width) - 0.5
    row = (x.row + 0.5) * (x.height / x.made_height) - 0.5
    a, b = column - np.floor(column), row - np.floor(row)
    top = x.at(column, row) * (1 - a) + x.at(column + 1, row) * a
    return top * (1 - b) + (x.at(column, row + 1) * (1 - a) + x.at(column + 1, row + 1) * a) * b


@mr.filter(size=lambda width, height: (height, 7))
def corner(x):
    return x[3, -1] + x[0, 0] * 0.25


@mr.filter
def steadied(x):
    return (x.frame(-2)[1, 0] + x) * 0.25 + x.frame(1) * 0.5


@mr.filter
def of_none(x):
    """A root that is no number for half of the pixels, compared and looked up."""
    root = np.sqrt(x - 0.5)
    seen = np.where(~(root < 0.5) & ~(x > 0.75), x[1, 0], x[0, 1])
    seen = seen + np.where(~((root < 0.5) | (x > 0.25)), np.float32(0.25), np.float32(0))
    seen = seen - np.where(~(root == root), np.float32(0.125), np.float32(0))
    return seen + mr.table(CURVE)[root * 300] * 0.125


@mr.filter
def none_at_all(x):
    return np.sqrt(x - 2)


@mr.filter(geometric=True)
def mirrored(x):
    return x.at(x.width - 1 - x.column, x.row)


OWN = [bent, unrolled, repeated, along, displaced, last_of, scaled, corner, steadied, mirrored, of_none, none_at_all, emboss, vignette, window_between, corners, wide, warmer_of, my_blur, my_sobel_x, my_sobel_y, my_magnitude,
       my_threshold]
