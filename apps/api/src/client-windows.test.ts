import { expect, test } from 'vitest'
import { createClientWindows, windowsKept } from './client-windows.ts'

test('who came lately, or comes now and then, is remembered however many others come, and the rest forgotten', () => {
  const windowOf = createClientWindows()
  for (const key of ['lately', 'now and then', 'once']) windowOf(key).current = 7
  for (let count = 0; count < 3 * windowsKept; count++) {
    if (count % (windowsKept / 2) === 0) windowOf('now and then')
    if (count === 2 * windowsKept + 1) windowOf('lately').current = 8
    windowOf(`stranger ${count}`)
  }
  expect(['lately', 'now and then', 'once'].map((key) => windowOf(key).current)).toEqual([8, 7, 0])
})
