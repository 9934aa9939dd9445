/** The content of an import. */
import type { ContactCreate } from './generated/types.gen.ts'

export type FileContent =
  | string
  | Blob
  | Uint8Array<ArrayBuffer>
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>

/**
 * A file with contacts, or the contacts themselves. A stream or a generator can be read only once: pass a function that
 * opens it, and the import is repeated after a temporary failure.
 */
export type Upload =
  | { csv: FileContent | (() => FileContent) }
  | { ndjson: FileContent | (() => FileContent) }
  | { contacts: Contacts | (() => Contacts) }

export type RequestBody = NonNullable<RequestInit['body']>

/** The content of one attempt. */
export interface OpenedUpload {
  body: RequestBody | null
  /** Set if the source fails. The error of the request is then only a consequence. */
  failure?: { error: unknown }
  /** Stops reading the source, which `fetch` would read to its end, even if the response has arrived. */
  close?(): void
}

const chunkLength = 65_536

type Contacts = Iterable<ContactCreate> | AsyncIterable<ContactCreate>

const sourceOf = (upload: Upload) =>
  'csv' in upload ? upload.csv : 'ndjson' in upload ? upload.ndjson : upload.contacts

/** Whether the content can be sent more than once. */
export function isReplayable(upload: Upload): boolean {
  const source = sourceOf(upload)
  return typeof source === 'function' || Array.isArray(source) || isWhole(source)
}

/** Returns the content for one attempt. */
export function openUpload(upload: Upload): OpenedUpload {
  const source = sourceOf(upload)
  const content = typeof source === 'function' ? source() : source
  if ('contacts' in upload) return openStream(toLines(content as Contacts))
  return isWhole(content) ? { body: content } : openStream(content as AsyncIterable<Uint8Array | string>)
}

const isWhole = (content: unknown): content is string | Blob | Uint8Array<ArrayBuffer> =>
  typeof content === 'string' || content instanceof Blob || content instanceof Uint8Array

/** Yields many lines at once, as each chunk is a write to the connection. */
async function* toLines(contacts: Contacts): AsyncGenerator<string> {
  let lines = ''
  for await (const contact of contacts) {
    lines += `${JSON.stringify(contact)}\n`
    if (lines.length < chunkLength) continue
    yield lines
    lines = ''
  }
  yield lines
}

/** `ReadableStream.from` is missing in some browsers and Workers. */
function openStream(source: AsyncIterable<Uint8Array | string>): OpenedUpload {
  const iterator = source[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  const closeSource = async () => {
    await iterator.return?.()
  }
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const opened: OpenedUpload = {
    body: new ReadableStream<Uint8Array>({
      start(created) {
        controller = created
      },
      async pull() {
        const next = await iterator.next().catch((error: unknown) => {
          opened.failure = { error }
          throw error
        })
        if (next.done) controller.close()
        else controller.enqueue(typeof next.value === 'string' ? encoder.encode(next.value) : next.value)
      },
      cancel: closeSource,
    }),
    close() {
      controller.error(new Error('The request has ended'))
      closeSource().catch(() => {})
    },
  }
  return opened
}
