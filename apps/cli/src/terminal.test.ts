import { expect, test } from 'vitest'
import { formatCount, openTerminal } from './terminal.ts'

/** A stream that keeps what is written. */
function collect(isTTY: boolean) {
  const written: string[] = []
  const stream = { isTTY, columns: 80, write: (text: string) => written.push(text) > 0 }
  return { written, stream: stream as unknown as NodeJS.WriteStream }
}

test('without a terminal, progress is a line in ten seconds at most', () => {
  const errors = collect(false)
  let time = 0
  const terminal = openTerminal(collect(false).stream, errors.stream, () => time)
  for (; time <= 25_000; time += 1_000) terminal.showProgress(`${time / 1_000} s`)
  expect(errors.written).toEqual(['10 s\n', '20 s\n'])
})

test('on a terminal, progress is one line that the next output replaces', () => {
  const errors = collect(true)
  const terminal = openTerminal(collect(true).stream, errors.stream)
  terminal.showProgress('1 %')
  terminal.log('done')
  terminal.log('again')
  expect(errors.written).toEqual(['\r\u001b[2K1 %', '\r\u001b[2K', 'done\n', 'again\n'])
})

test('a count has the noun in the singular or plural', () => {
  expect([0, 1, 2_000].map((count) => formatCount(count, 'domain'))).toEqual(['0 domains', '1 domain', '2,000 domains'])
  expect([1, 2].map((count) => formatCount(count, 'delivery', 'deliveries'))).toEqual(['1 delivery', '2 deliveries'])
  expect(formatCount(1_234)).toBe('1,234')
})
