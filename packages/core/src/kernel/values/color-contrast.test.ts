import { expect, test } from 'vitest'
import { computeContrast, mixWithWhite } from './color-contrast.ts'

test.each([
  ['#000000', 21],
  ['#ffffff', 1],
  ['#777777', 4.48],
  ['#767676', 4.54],
  ['#ff0000', 4],
  ['#0000ff', 8.59],
  ['#00ff00', 1.37],
])('the contrast of %s with white is %d, in both directions', (color, contrast) => {
  expect(computeContrast(color, '#ffffff')).toBeCloseTo(contrast, 2)
  expect(computeContrast('#ffffff', color)).toBe(computeContrast(color, '#ffffff'))
})

test('a mix with white keeps the ends of the scale', () => {
  expect(['#000000', '#2f5bea'].map((color) => mixWithWhite(color, 0))).toEqual(['#000000', '#2f5bea'])
  expect([0.5, 1].map((share) => mixWithWhite('#000000', share))).toEqual(['#808080', '#ffffff'])
})
