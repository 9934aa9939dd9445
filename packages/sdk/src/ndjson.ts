import type { Contact } from './generated/types.gen.ts'

/**
 * Reads a stream of NDJSON, such as `await rapport.contacts.export({ format: 'ndjson' })`, and yields one value per
 * line.
 */
export async function* parseNdjson<Value = Contact>(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Value> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value = '' } = await reader.read()
      const lines = (rest + value).split('\n')
      rest = done ? '' : (lines.pop() ?? '')
      yield* lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Value)
      if (done) return
    }
  } finally {
    await reader.cancel()
  }
}
