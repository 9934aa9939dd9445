import { describe, expect, test } from 'vitest'
import { refusedShapes } from './refused-shapes.ts'
import { findRefusedShapes } from './require-one-workspace.ts'

const check = (text: string) => findRefusedShapes(text, { isCounted: true })

describe.each(Object.entries(refusedShapes))('%s', (name, { reason, example, instead }) => {
  test('is found', async () => {
    expect(await check(example)).toEqual([`${name}: ${reason}`])
  })
  test('can be written in another way', async () => {
    expect(await check(instead)).toEqual([])
  })
})
