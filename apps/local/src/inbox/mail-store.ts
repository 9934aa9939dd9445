import { chmod, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import type { Address, Attachment } from 'postal-mime'

export interface Mailbox {
  readonly name: string
  readonly address: string
}

export interface MailSummary {
  readonly id: string
  /** When the inbox received the mail, in ISO 8601. */
  readonly receivedAt: string
  readonly from: Mailbox | null
  readonly to: readonly Mailbox[]
  /** The recipients in the envelope, which may differ from the headers. */
  readonly deliveredTo: readonly string[]
  readonly subject: string
}

export interface Mail extends MailSummary {
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly text: string | null
  readonly html: string | null
  readonly attachments: readonly Attachment[]
}

/** Stores mails as files in a folder and removes the oldest ones above a limit. */
export interface MailStore {
  add(message: Buffer, envelope: { from: string; to: readonly string[] }): Promise<void>
  /** Newest first. `to` filters by recipient. */
  list(options: { to?: string | undefined; limit: number }): Promise<MailSummary[]>
  find(id: string): Promise<Mail | undefined>
  source(id: string): Promise<Buffer | undefined>
  clear(): Promise<void>
  /** Calls the listener after each change. Returns a function that removes it. */
  onChange(listener: () => void): () => void
}

const extension = '.eml'
const maxHeaderBytes = 64 * 1024

/** Creates the folder if needed, and keeps the newest `maxMails`. */
export async function openMailStore(directory: string, maxMails: number): Promise<MailStore> {
  // Mails contain links that give access to accounts, so only the current user may read them.
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  const names = await readdir(directory)
  const ids = names.filter((name) => name.endsWith(extension)).map((name) => name.slice(0, -extension.length))
  ids.sort()
  // Summaries are parsed on first use, as most mails of a test run are never viewed.
  const summaries = new Map<string, MailSummary>()
  const listeners = new Set<() => void>()
  const fileOf = (id: string) => join(directory, `${id}${extension}`)
  let counter = 0

  async function remove(removedIds: string[]): Promise<void> {
    for (const id of removedIds) summaries.delete(id)
    await Promise.all(removedIds.map((id) => rm(fileOf(id), { force: true })))
  }

  async function summaryOf(id: string): Promise<MailSummary | undefined> {
    const known = summaries.get(id)
    if (known) return known
    const head = await readHead(fileOf(id)).catch(() => undefined)
    if (!head) return undefined
    const summary = summarize(id, await PostalMime.parse(head))
    summaries.set(id, summary)
    return summary
  }

  const source = async (id: string) => (ids.includes(id) ? readFile(fileOf(id)).catch(() => undefined) : undefined)
  await remove(ids.splice(0, Math.max(0, ids.length - maxMails)))

  return {
    source,

    async add(message, envelope) {
      const id = newMailId(counter++)
      const unfinished = join(directory, `${id}.new`)
      await writeFile(unfinished, [envelopeHeaders(envelope), message], { mode: 0o600 })
      await rename(unfinished, fileOf(id))
      ids.push(id)
      await remove(ids.splice(0, Math.max(0, ids.length - maxMails)))
      for (const listener of listeners) listener()
    },

    async list({ to, limit }) {
      const found: MailSummary[] = []
      for (let index = ids.length - 1; index >= 0 && found.length < limit; index--) {
        const summary = await summaryOf(ids[index] ?? '')
        if (summary && (!to || isFor(summary, to))) found.push(summary)
      }
      return found
    },

    async find(id) {
      const message = await source(id)
      if (!message) return undefined
      const parsed = await PostalMime.parse(message)
      return {
        ...summarize(id, parsed),
        headers: parsed.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
        text: parsed.text ?? null,
        html: parsed.html ?? null,
        attachments: parsed.attachments,
      }
    },

    async clear() {
      await remove(ids.splice(0))
      for (const listener of listeners) listener()
    },

    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Ids sort by time of arrival, also within a millisecond and over restarts. */
function newMailId(counter: number): string {
  return `${new Date().toISOString().replace(/\W/g, '')}-${String(counter).padStart(6, '0')}`
}

function receivedAt(id: string): string {
  return id.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\d)(\d{3})Z.*$/, '$1-$2-$3:$4:$5.$6Z')
}

/** Stores the envelope as headers in front of the message, as mail servers do. */
function envelopeHeaders(envelope: { from: string; to: readonly string[] }): Buffer {
  const lines = [`Return-Path: <${envelope.from}>`, ...envelope.to.map((address) => `Delivered-To: ${address}`)]
  return Buffer.from(lines.map((line) => `${line}\r\n`).join(''))
}

async function readHead(file: string): Promise<Buffer> {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxHeaderBytes), 0, maxHeaderBytes, 0)
    const end = buffer.indexOf('\r\n\r\n')
    return buffer.subarray(0, end < 0 ? bytesRead : end + 4)
  } finally {
    await handle.close()
  }
}

function summarize(id: string, parsed: Awaited<ReturnType<typeof PostalMime.parse>>): MailSummary {
  return {
    id,
    receivedAt: receivedAt(id),
    from: mailboxes(parsed.from ? [parsed.from] : [])[0] ?? null,
    to: mailboxes(parsed.to ?? []),
    deliveredTo: parsed.headers.filter(({ key }) => key === 'delivered-to').map(({ value }) => value),
    subject: parsed.subject ?? '',
  }
}

function mailboxes(addresses: readonly Address[]): Mailbox[] {
  return addresses.flatMap((address) =>
    address.group ? mailboxes(address.group) : [{ name: address.name, address: address.address }],
  )
}

function isFor(summary: MailSummary, to: string): boolean {
  const addresses = [...summary.deliveredTo, ...summary.to.map(({ address }) => address)]
  return addresses.some((address) => address.toLowerCase() === to.toLowerCase())
}
