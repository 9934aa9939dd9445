import { expect, test, vi } from 'vitest'
import { collect, createFakeClient } from '../test/fake-fetch.ts'
import { ConnectionError } from './errors.ts'
import { parseNdjson } from './ndjson.ts'

const values = [{ email: 'ada@example.com' }, { name: 'Ådá 名前 😀', note: 'one\ntwo' }, null, 7, {}]
const text = values.map((value) => `${JSON.stringify(value)}\n`).join('')

/** A stream of pieces of so many bytes. */
function cut(content: string, length: number, cancel?: () => void): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(content)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, (at += length)))
    },
    ...(cancel && { cancel }),
  })
}

test('lines may be cut anywhere, also inside a character', async () => {
  for (let length = 1; length <= text.length; length++)
    expect(await collect(parseNdjson(cut(text, length)))).toEqual(values)
})

test('the last line needs no line break, and empty lines and files have no value', async () => {
  expect(await collect(parseNdjson(cut('1\n\n2', 1)))).toEqual([1, 2])
  expect(await collect(parseNdjson(cut('', 1)))).toEqual([])
  expect(await collect(parseNdjson(cut('\n', 1)))).toEqual([])
})

test('a consumer that stops cancels the stream', async () => {
  const cancel = vi.fn<() => void>()
  for await (const value of parseNdjson(cut(text, 10, cancel))) {
    expect(value).toEqual(values[0])
    break
  }
  expect(cancel).toHaveBeenCalledTimes(1)
})

test('a line that is not JSON is an error, and cancels the stream', async () => {
  const cancel = vi.fn<() => void>()
  await expect(collect(parseNdjson(cut(`1\n{\n${text}`, 4, cancel)))).rejects.toThrow(SyntaxError)
  expect(cancel).toHaveBeenCalledTimes(1)
})

test('a file that is cut rejects after its whole lines', async () => {
  let pulls = 0
  const body = new ReadableStream({
    pull(controller) {
      pulls += 1
      if (pulls === 1) controller.enqueue(new TextEncoder().encode('{"n":1}\n{"n":2}\n{"n":'))
      else controller.error(new TypeError('terminated'))
    },
  })
  const { rapport } = createFakeClient([new Response(body)])
  const read: unknown[] = []
  const readAll = async () => {
    for await (const value of parseNdjson(await rapport.contacts.export({ format: 'ndjson' }))) read.push(value)
  }
  await expect(readAll()).rejects.toBeInstanceOf(ConnectionError)
  expect(read).toEqual([{ n: 1 }, { n: 2 }])
})
