#!/usr/bin/env python3
"""Makes the sample payloads beside this file, always the same ones.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy==2.4.6 pillow==13.0.0
    /tmp/venv/bin/python Examples/payloads/generate.py

badge.svg and coupon.json are written by hand; everything else comes from here, from fixed seeds.
The results are committed, so that nobody needs Python to use them.
"""

import wave
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

HERE = Path(__file__).resolve().parent


def noise(rng, height, width, cells_y, cells_x):
    """One octave of smooth value noise in 0...1."""
    grid = rng.random((cells_y + 2, cells_x + 2))
    y = np.linspace(0, cells_y, height, endpoint=False)
    x = np.linspace(0, cells_x, width, endpoint=False)
    iy, ix = y.astype(int), x.astype(int)
    fy, fx = y - iy, x - ix
    fy, fx = fy * fy * (3 - 2 * fy), fx * fx * (3 - 2 * fx)
    a, b = grid[np.ix_(iy, ix)], grid[np.ix_(iy, ix + 1)]
    c, d = grid[np.ix_(iy + 1, ix)], grid[np.ix_(iy + 1, ix + 1)]
    top = a + (b - a) * fx[None, :]
    bottom = c + (d - c) * fx[None, :]
    return top + (bottom - top) * fy[:, None]


def fractal(rng, height, width, cells_y, cells_x, octaves=6, gain=0.5):
    total, weight, norm = np.zeros((height, width)), 1.0, 0.0
    for octave in range(octaves):
        scale = 2**octave
        total += weight * noise(rng, height, width, cells_y * scale, cells_x * scale)
        norm += weight
        weight *= gain
    return total / norm


def ridge_line(rng, width, base, height, cells, octaves=8, gain=0.48):
    """The upper edge of a mountain range, in rows."""
    line, weight, norm = np.zeros(width), 1.0, 0.0
    for octave in range(octaves):
        line += weight * noise(rng, 1, width, 1, cells * 2**octave)[0]
        norm += weight
        weight *= gain
    return base - height * (line / norm - 0.5) * 2


def colour(hexcode):
    return np.array([int(hexcode[i : i + 2], 16) for i in (1, 3, 5)], dtype=float) / 255


def gradient(rows, stops):
    """Colours for each row value in 0...1 from (position, colour) stops."""
    positions = [p for p, _ in stops]
    channels = [np.interp(rows, positions, [colour(c)[k] for _, c in stops]) for k in range(3)]
    return np.stack(channels, axis=-1)


def photo():
    """A lake among mountains just before the sun has gone."""
    width, height = 1200, 800
    horizon = 500
    rng = np.random.default_rng(20260714)
    yy, xx = np.mgrid[0:horizon, 0:width].astype(float)
    sun_x, sun_y = 770.0, 395.0

    sky = gradient(
        yy / horizon,
        [(0, "#27406f"), (0.3, "#5a6ea3"), (0.55, "#c28b9a"), (0.75, "#f0a478"), (1, "#fbd28c")],
    )
    distance = np.hypot((xx - sun_x) * 0.8, yy - sun_y)
    sky += np.exp(-distance / 190)[..., None] * colour("#ffb45a") * 0.55
    sky += np.exp(-((distance / 46) ** 2))[..., None] * colour("#fff0c8") * 0.75
    clouds = fractal(rng, horizon, width, 9, 4, 7, 0.55)
    streaks = fractal(rng, horizon, width, 22, 3, 5, 0.5)
    cover = np.clip((0.6 * clouds + 0.4 * streaks - 0.47) * 5, 0, 1)
    cover *= np.clip(1.15 - np.abs(yy / horizon - 0.38) * 2.0, 0, 1)
    lit = np.clip(1.2 - distance / 620, 0.1, 1)[..., None]
    cloud_colour = colour("#6a5f8c") * (1 - lit) + colour("#ffc09a") * lit
    sky = sky * (1 - 0.8 * cover[..., None]) + cloud_colour * 0.8 * cover[..., None]

    scene = sky
    ranges = [  # base row, height, cells, near colour, share of haze, sharpness
        (400, 95, 5, "#7d6f95", 0.62),
        (432, 80, 6, "#5d557f", 0.42),
        (462, 58, 7, "#413f66", 0.24),
        (490, 34, 9, "#242a45", 0.08),
    ]
    haze_colour = gradient(yy / horizon, [(0, "#c28b9a"), (0.7, "#f2a97d"), (1, "#fbcf90")])
    for index, (base, tall, cells, near, haze) in enumerate(ranges):
        line = ridge_line(rng, width, base, tall, cells)
        if index == 3:  # trees on the nearest shore
            spikes = np.abs(noise(rng, 1, width, 1, 260)[0] - 0.35) * 26
            line = line - spikes * (0.4 + noise(rng, 1, width, 1, 14)[0])
        inside = np.clip(yy - line[None, :] + 0.5, 0, 1)[..., None]
        rock = fractal(rng, horizon, width, 40, 34, 5, 0.6)
        slope = np.gradient(line)
        facing = np.clip(-slope * np.sign(xx[0] - sun_x), -1, 1)
        shade = 0.82 + 0.42 * (rock - 0.5) + 0.12 * facing[None, :]
        body = colour(near)[None, None, :] * shade[..., None]
        sunward = np.exp(-np.abs(xx - sun_x) / 330)
        depth = np.clip((yy - line[None, :]) / 110, 0, 1)
        amount = np.clip(haze * (0.55 + 0.6 * depth) + 0.22 * sunward * haze, 0, 0.92)[..., None]
        scene = scene * (1 - inside) + (body * (1 - amount) + haze_colour * amount) * inside

    # The lake: the scene upside down, drawn out, broken by ripples that grow towards us.
    rows = height - horizon
    depth = (np.arange(rows) + 0.5) / rows
    mirror = np.clip(horizon - 1 - (depth**1.15 * 470), 0, horizon - 1)
    ripple = fractal(rng, rows, width, 70, 9, 4, 0.6) - 0.5
    swell = fractal(rng, rows, width, 26, 4, 3, 0.6) - 0.5
    source_y = mirror[:, None] + (ripple * 60 + swell * 44) * (0.12 + depth[:, None])
    source_x = np.arange(width)[None, :] + ripple * 26 * (0.2 + depth[:, None])
    iy = np.clip(source_y, 0, horizon - 1).astype(int)
    ix = np.clip(source_x, 0, width - 1).astype(int)
    water = scene[iy, ix] * (0.86 - 0.34 * depth[:, None, None])
    water = water * 0.9 + colour("#1d2d52") * 0.10
    # The path of the sun on the water.
    path = np.exp(-((np.arange(width)[None, :] - sun_x) / (34 + 120 * depth[:, None])) ** 2)
    glint = np.clip((ripple * 2.2 + swell + 0.18), 0, 1) * path * (1 - 0.55 * depth[:, None])
    water += glint[..., None] * colour("#ffd08a") * 1.5
    image = np.concatenate([scene, water])

    # A dark bank with reeds in front.
    yy, xx = np.mgrid[0:height, 0:width].astype(float)
    bank = ridge_line(rng, width, 790, 22, 3) + np.abs(xx[0] - 820) * -0.045 + 22
    inside = np.clip((yy - bank[None, :]) / 2.5, 0, 1)[..., None]
    image = image * (1 - inside) + colour("#0c101c") * inside
    reeds = Image.new("L", (width * 2, height * 2), 0)
    pen = ImageDraw.Draw(reeds)
    for _ in range(240):
        x = rng.choice([rng.normal(90, 95), rng.normal(1120, 70)])
        root, tall = 812, rng.uniform(60, 210) * (0.55 if 200 < x < 1000 else 1)
        lean = rng.normal(0, 26)
        points = []
        for step in range(14):
            t = step / 13
            points.append(((x + lean * t * t) * 2, (root - tall * t) * 2))
        pen.line(points, fill=255, width=int(rng.integers(2, 6)))
        if rng.random() < 0.22:
            tip_x, tip_y = points[-2]
            pen.ellipse([tip_x - 6, tip_y - 6, tip_x + 6, tip_y + 40], fill=255)
    reeds = reeds.resize((width, height), Image.Resampling.LANCZOS)
    mask = np.asarray(reeds.filter(ImageFilter.GaussianBlur(0.8)), dtype=float)[..., None] / 255
    image = image * (1 - mask) + colour("#0b0e1a") * mask

    # What a camera adds: glow, a little vignette, a curve, grain.
    flat = Image.fromarray((np.clip(image, 0, 1) * 255).astype(np.uint8))
    bright = ImageChops.multiply(flat, flat).filter(ImageFilter.GaussianBlur(26))
    image = np.clip(image, 0, 1)
    image = 1 - (1 - image) * (1 - np.asarray(bright, dtype=float) / 255 * 0.28)
    radius = np.hypot((xx - width / 2) / width, (yy - height / 2) / height)
    image *= (1.05 - 0.5 * np.clip(radius - 0.25, 0, 1))[..., None]
    image = np.clip(image, 0, 1)
    image = image + 0.10 * (image - 0.5) * (1 - np.abs(2 * image - 1))
    image += rng.normal(0, 0.011, (height, width, 1)) + rng.normal(0, 0.004, image.shape)
    out = Image.fromarray((np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8))
    out.save(HERE / "photo.jpg", quality=84, optimize=True, progressive=True, subsampling="4:2:0")


def star_points(cx, cy, outer, inner, count=5, turn=-90):
    points = []
    for k in range(count * 2):
        radius = outer if k % 2 == 0 else inner
        angle = np.deg2rad(turn + k * 180 / count)
        points.append((cx + radius * np.cos(angle), cy + radius * np.sin(angle)))
    return points


def rounded(mask, radius):
    """Rounds the corners of a shape: blurred, then cut again at one half."""
    soft = mask.filter(ImageFilter.GaussianBlur(radius))
    return soft.point(lambda v: 0 if v < 122 else (255 if v > 134 else (v - 122) * 255 // 12))


def sticker():
    """A smiling star with the white edge of a sticker; everything outside is transparent."""
    size, scale = 384, 4
    big = size * scale
    star = Image.new("L", (big, big), 0)
    ImageDraw.Draw(star).polygon(star_points(big / 2, big * 0.525, big * 0.44, big * 0.265), fill=255)
    star = rounded(star, big * 0.030)
    edge = rounded(star.filter(ImageFilter.GaussianBlur(1)), 2)
    grown = star
    for _ in range(6):
        grown = grown.filter(ImageFilter.MaxFilter(13))
    edge = rounded(grown, 9)

    yy, xx = np.mgrid[0:big, 0:big].astype(float) / big
    light = np.clip(1.15 - np.hypot(xx - 0.40, yy - 0.34) * 1.35, 0, 1)[..., None]
    face = colour("#ff9f1c") * (1 - light) + colour("#ffe066") * light
    face_image = Image.fromarray((face * 255).astype(np.uint8))

    out = Image.new("RGBA", (big, big), (0, 0, 0, 0))
    shadow = Image.new("RGBA", (big, big), (38, 28, 70, 0))
    shade = ImageChops.offset(edge, 0, int(big * 0.018)).filter(ImageFilter.GaussianBlur(big * 0.012))
    shadow.putalpha(shade.point(lambda v: int(v * 0.38)))
    out = Image.alpha_composite(out, shadow)
    out.paste(Image.new("RGBA", (big, big), (255, 255, 255, 255)), (0, 0), edge)
    out.paste(face_image, (0, 0), star)
    # A darker rim inside the star.
    rim = ImageChops.subtract(star, ImageChops.offset(star, 0, -int(big * 0.022)))
    rim = ImageChops.multiply(rim, star).filter(ImageFilter.GaussianBlur(5))
    out.paste(Image.new("RGBA", (big, big), (232, 110, 20, 255)), (0, 0),
              ImageChops.multiply(rim.point(lambda v: int(v * 0.55)), star))

    pen = ImageDraw.Draw(out)
    unit = big / 100
    ink = (66, 35, 20, 255)
    for x in (40.5, 59.5):  # eyes with a glint
        pen.ellipse([(x - 3.4) * unit, 44.5 * unit, (x + 3.4) * unit, 54 * unit], fill=ink)
        pen.ellipse([(x - 1.9) * unit, 46 * unit, (x + 0.6) * unit, 48.6 * unit],
                    fill=(255, 255, 255, 255))
    pen.chord([42.5 * unit, 49 * unit, 57.5 * unit, 65 * unit], 8, 172, fill=ink)
    tongue = Image.new("L", (big, big), 0)
    ImageDraw.Draw(tongue).ellipse(
        [45.6 * unit, 59.6 * unit, 54.4 * unit, 68 * unit], fill=255)
    mouth = Image.new("L", (big, big), 0)
    ImageDraw.Draw(mouth).chord(
        [42.5 * unit, 49 * unit, 57.5 * unit, 65 * unit], 8, 172, fill=255)
    out.paste(Image.new("RGBA", (big, big), (255, 107, 107, 255)), (0, 0),
              ImageChops.multiply(tongue, mouth))
    cheeks = Image.new("L", (big, big), 0)
    for x in (33.2, 66.8):
        ImageDraw.Draw(cheeks).ellipse(
            [(x - 4) * unit, 53.5 * unit, (x + 4) * unit, 58.5 * unit], fill=170)
    cheeks = cheeks.filter(ImageFilter.GaussianBlur(unit * 0.8))
    out.paste(Image.new("RGBA", (big, big), (255, 92, 92, 255)), (0, 0), cheeks)
    out = out.resize((size, size), Image.Resampling.LANCZOS)
    out.save(HERE / "sticker.png", optimize=True)


def confetti():
    """Confetti over a present: 24 frames that join without a seam."""
    width, height, frames, scale = 300, 220, 24, 3
    rng = np.random.default_rng(77)
    colours = ["#ff5d73", "#ffd166", "#06d6a0", "#4ea8de", "#9b5de5", "#ff9f1c"]
    background = "#fff7ec"
    pieces = []
    for index in range(58):
        pieces.append(dict(
            x=rng.uniform(0, width), phase=rng.random(), sway=rng.uniform(4, 13),
            turn=int(rng.integers(1, 3)) * rng.choice([-1, 1]), spin=int(rng.integers(1, 4)),
            start=rng.random(), wide=rng.uniform(4.5, 8), tall=rng.uniform(7, 12),
            tint=colours[index % len(colours)], round=index % 5 == 0,
            front=rng.random() < 0.3))

    def draw_pieces(pen, t, front):
        for piece in pieces:
            if piece["front"] != front:
                continue
            y = ((piece["start"] + t) % 1.0) * (height + 30) - 15
            x = piece["x"] + piece["sway"] * np.sin(2 * np.pi * (t + piece["phase"]))
            flip = np.cos(2 * np.pi * (piece["spin"] * t + piece["phase"]))
            angle = 2 * np.pi * (piece["turn"] * t + piece["phase"])
            half_w, half_h = piece["wide"] / 2, piece["tall"] / 2 * max(abs(flip), 0.18)
            if piece["round"]:
                pen.ellipse([(x - half_w) * scale, (y - half_h) * scale,
                             (x + half_w) * scale, (y + half_h) * scale], fill=piece["tint"])
                continue
            corners = []
            for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                px, py = sx * half_w, sy * half_h
                corners.append(((x + px * np.cos(angle) - py * np.sin(angle)) * scale,
                                (y + px * np.sin(angle) + py * np.cos(angle)) * scale))
            pen.polygon(corners, fill=piece["tint"])

    def draw_present(pen, t):
        bounce = 4 * abs(np.sin(2 * np.pi * t))
        squash = 1 - 0.03 * np.cos(4 * np.pi * t)
        bottom, left, right = 196, 104, 196
        top = bottom - 70 * squash - bounce * 0.6
        s = lambda *v: [n * scale for n in v]
        pen.ellipse(s(left - 8, bottom - 5, right + 8, bottom + 8), fill="#eadfce")
        pen.rounded_rectangle(s(left, top, right, bottom), radius=5 * scale, fill="#ff5d73")
        pen.rectangle(s(left + 60, top, right, bottom - 5), fill="#f24a62")
        pen.rounded_rectangle(s(left, bottom - 12, right, bottom), radius=5 * scale, fill="#f24a62")
        pen.rectangle(s(141, top, 159, bottom), fill="#ffd166")
        lid = top - bounce
        pen.rounded_rectangle(s(left - 7, lid - 20, right + 7, lid + 2), radius=5 * scale, fill="#ff7388")
        pen.rectangle(s(141, lid - 20, 159, lid + 2), fill="#ffdd8a")
        for sign in (-1, 1):  # the bow
            loop = [(150, lid - 20), (150 + sign * 14, lid - 44), (150 + sign * 34, lid - 42),
                    (150 + sign * 37, lid - 29), (150 + sign * 20, lid - 21)]
            pen.polygon([(x * scale, y * scale) for x, y in loop], fill="#ffd166")
            hole = [(150 + sign * 7, lid - 24), (150 + sign * 16, lid - 37),
                    (150 + sign * 29, lid - 36), (150 + sign * 29, lid - 29)]
            pen.polygon([(x * scale, y * scale) for x, y in hole], fill="#f0b93d")
        pen.ellipse(s(143, lid - 30, 157, lid - 16), fill="#ffc94d")

    stills = []
    for frame in range(frames):
        t = frame / frames
        canvas = Image.new("RGB", (width * scale, height * scale), background)
        pen = ImageDraw.Draw(canvas)
        draw_pieces(pen, t, front=False)
        draw_present(pen, t)
        draw_pieces(pen, t, front=True)
        stills.append(canvas.resize((width, height), Image.Resampling.BOX))
    sheet = Image.new("RGB", (width, height * 4))
    for k in range(4):
        sheet.paste(stills[k * frames // 4], (0, k * height))
    palette = sheet.quantize(colors=32, method=Image.Quantize.MEDIANCUT)
    flat = [still.quantize(palette=palette, dither=Image.Dither.NONE) for still in stills]
    flat[0].save(HERE / "confetti.gif", save_all=True, append_images=flat[1:], duration=60, loop=0,
                 optimize=False, disposal=1)


def chime():
    """Three bell notes upwards, 1.4 seconds, 16 bit, mono."""
    rate, seconds = 22_050, 1.4
    t = np.arange(int(rate * seconds)) / rate
    sound = np.zeros_like(t)
    partials = [(1.0, 1.0, 3.2), (2.0, 0.42, 4.6), (3.01, 0.22, 7.5), (4.17, 0.12, 11.0)]
    for start, pitch in ((0.0, 659.26), (0.13, 830.61), (0.26, 1318.51)):
        local = np.clip(t - start, 0, None)
        attack = np.clip(local / 0.004, 0, 1)
        for ratio, level, decay in partials:
            sound += level * attack * np.exp(-decay * local) * np.sin(2 * np.pi * pitch * ratio * local)
    sound *= np.clip((seconds - t) / 0.12, 0, 1)
    samples = np.round(sound / np.abs(sound).max() * 0.72 * 32767).astype("<i2")
    with wave.open(str(HERE / "chime.wav"), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(samples.tobytes())


if __name__ == "__main__":
    photo()
    sticker()
    confetti()
    chime()
    for path in sorted(HERE.glob("*.*")):
        print(f"{path.name:14} {path.stat().st_size:8,} bytes")
