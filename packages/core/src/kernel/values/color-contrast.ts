/** The contrast of text with its background that WCAG 2.2 requires (1.4.3, level AA). */
export const minTextContrast = 4.5

/** The contrast ratio of two colors of the form `#rrggbb`: 1 to 21 (WCAG 2.2). */
export function computeContrast(color: string, other: string): number {
  const [darker = 0, lighter = 0] = [computeLuminance(color), computeLuminance(other)].toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function computeLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = parseColor(color).map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** With this share of white, every accent color has enough contrast with a dark page, even black. */
export const whiteShareInDarkMode = 0.55

/** Mixes a color with white. `share` is the share of white, 0 to 1. */
export function mixWithWhite(color: string, share: number): string {
  const mixed = parseColor(color).map((channel) => Math.round(channel + (255 - channel) * share))
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

function parseColor(color: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16))
}
