/** The content of an import. */
import type { ContactCreate } from './generated/types.gen.ts'

export type FileContent =
  | string
  | Blob
  | Uint8Array<ArrayBuffer>
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>

/**
 * A file with contacts, or the contacts themselves. A stream can be read only once: pass a function that opens it, and
 * the import is repeated after a temporary failure.
 */
export type Upload =
  | { csv: FileContent | (() => FileContent) }
  | { ndjson: FileContent | (() => FileContent) }
  | { contacts: Contacts | (() => Contacts) }

export type RequestBody = NonNullable<RequestInit['body']>

type Contacts = Iterable<ContactCreate> | AsyncIterable<ContactCreate>

const sourceOf = (upload: Upload) =>
  'csv' in upload ? upload.csv : 'ndjson' in upload ? upload.ndjson : upload.contacts

/** Whether the content can be sent more than once. */
export function isReplayable(upload: Upload): boolean {
  const source = sourceOf(upload)
  return typeof source === 'function' || Array.isArray(source) || !isStream(source)
}

/** Returns the content for one attempt. */
export function openUpload(upload: Upload): RequestBody {
  const source = sourceOf(upload)
  const content = typeof source === 'function' ? source() : source
  if ('contacts' in upload) return toStream(toLines(content as Contacts))
  return isStream(content) ? toStream(content as AsyncIterable<Uint8Array | string>) : (content as RequestBody)
}

const isStream = (content: unknown) =>
  typeof content === 'object' && content !== null && Symbol.asyncIterator in content

async function* toLines(contacts: Contacts): AsyncGenerator<string> {
  for await (const contact of contacts) yield `${JSON.stringify(contact)}\n`
}

/** `ReadableStream.from` is missing in some browsers and Workers. */
function toStream(source: AsyncIterable<Uint8Array | string>): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const next = await iterator.next()
      if (next.done) controller.close()
      else controller.enqueue(typeof next.value === 'string' ? encoder.encode(next.value) : next.value)
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}
