import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

// What a process of its own says of its young space: after work, after V8 took the room back, and after work again.
const program = `
  import { setImmediate as next } from 'node:timers/promises'
  const { keepMemorySmall, makeRoomForWork, youngSpaceSize } = await import(process.argv[1])
  keepMemorySmall()
  makeRoomForWork()
  async function work() {
    let kept = []
    for (let round = 0; round < 200; round++) {
      kept = Array.from({ length: 20_000 }, (_, index) => ({ index, text: 'x' + index }))
      await next()
    }
    return { size: youngSpaceSize(), kept: kept.length }
  }
  const first = await work()
  gc({ type: 'major', flavor: 'last-resort' })
  const idle = youngSpaceSize()
  const again = await work()
  console.log(JSON.stringify([first.size, idle, again.size].map((bytes) => bytes / 1_048_576)))
`

it('new objects have their room again when V8 took it back from an idle process', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    '--input-type=module',
    '--eval',
    program,
    new URL('heap-tuning.ts', import.meta.url).href,
  ])

  const [atWork, idle, atWorkAgain] = JSON.parse(stdout) as [number, number, number]
  expect(atWork).toBeGreaterThanOrEqual(8)
  expect(idle).toBeLessThan(8)
  expect(atWorkAgain).toBeGreaterThanOrEqual(8)
})
