import { setImmediate as turn } from 'node:timers/promises'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { waitForDrain } from './wait-for-drain.ts'

test('waiting for a slow program leaves no listener', async () => {
  const stream = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void setImmediate(done) })
  const before = stream.eventNames().map((name) => [name, stream.listenerCount(name)])
  for (let count = 0; count < 20; count++) if (!stream.write('chunk')) await waitForDrain(stream)
  await turn()
  expect(stream.eventNames().map((name) => [name, stream.listenerCount(name)])).toEqual(before)
  stream.destroy()
})
