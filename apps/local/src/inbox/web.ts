import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { script } from './assets.ts'
import type { Mail, MailStore } from './mail-store.ts'
import { inboxPage, mailDocument, textDocument } from './pages.ts'
import type { View } from './pages.ts'

interface Answer {
  readonly status?: number
  readonly type: 'text/html' | 'text/plain' | 'application/json' | 'application/octet-stream'
  readonly body: string | Uint8Array
  /** What the page may load and do; nothing unless said. */
  readonly policy?: string
  readonly fileName?: string
}

const scriptHash = createHash('sha256').update(script).digest('base64')
const pagePolicy =
  `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${scriptHash}'; connect-src 'self'; ` +
  "img-src data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
/** A mail looks as it would to its reader, pictures from elsewhere included, and can do nothing but open links. */
const mailPolicy =
  "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; img-src * data:; style-src * 'unsafe-inline'; " +
  "font-src * data:; media-src *; form-action 'none'; frame-ancestors 'self'"
const pageLength = 200
const jsonLength = 20

/** Shows the store in a browser at `/` and as JSON at `/email`. Listens on loopback only. */
export async function startWeb(store: MailStore, port: number): Promise<{ stop(): Promise<void> }> {
  const names = new Set(['localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${port}`))
  const server = createServer((request, response) => {
    // A site that a browser visits may point a name of its own at this machine, and read what it is answered.
    if (!names.has(request.headers.host ?? '')) return send(response, text(403, 'Open the inbox as localhost'))
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (url.pathname === '/changes') return streamChanges(store, response)
    answer(store, request, url)
      .catch((error: unknown) => text(500, error instanceof Error ? error.message : String(error)))
      .then((result) => send(response, result))
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(store: MailStore, request: IncomingMessage, url: URL): Promise<Answer> {
  const [, root, id, part, index] = url.pathname.split('/')
  const to = url.searchParams.get('to') ?? undefined
  if (root === '') return html(await page(store, url, to), pagePolicy)
  if (root !== 'email') return text(404, 'Not found')
  if (request.method === 'DELETE' && id === undefined) {
    await store.clear()
    return json({ deleted: true })
  }
  if (id === undefined) return json(await newest(store, { to, limit: limitOf(url) }))

  const mail = id === 'latest' ? (await newest(store, { to, limit: 1 }))[0] : await store.find(id)
  if (!mail) return text(404, to ? `No mail to ${to}` : 'No such mail')
  if (part === undefined) return json(mail)
  if (part === 'attachments') return attachment(mail, Number(index))
  if (part === 'source') return text(200, (await store.source(mail.id)) ?? '')
  // A browser gets a page whose links can be followed, curl the bare text.
  return mailBody(mail, part, { asPage: request.headers.accept?.includes('text/html') === true })
}

async function page(store: MailStore, url: URL, to: string | undefined): Promise<string> {
  const id = url.searchParams.get('mail')
  const view = url.searchParams.get('view') as View | null
  return inboxPage({
    mails: await store.list({ to, limit: pageLength }),
    chosen: id ? await store.find(id) : undefined,
    view: view ?? undefined,
    to,
  })
}

function mailBody(mail: Mail, part: string, options: { asPage: boolean }): Answer {
  const plain = mail.text ?? ''
  if (part === 'html') return html(mailDocument(mail), mailPolicy)
  if (part === 'text') return options.asPage ? html(textDocument(plain), mailPolicy) : text(200, plain)
  return text(404, 'Not found')
}

async function newest(store: MailStore, options: { to: string | undefined; limit: number }): Promise<Mail[]> {
  const summaries = await store.list(options)
  const mails = await Promise.all(summaries.map(({ id }) => store.find(id)))
  return mails.filter((mail) => mail !== undefined)
}

function limitOf(url: URL): number {
  const limit = Number(url.searchParams.get('limit') ?? jsonLength)
  return Number.isInteger(limit) && limit > 0 ? Math.min(limit, 1_000) : jsonLength
}

function attachment(mail: Mail, index: number): Answer {
  const found = mail.attachments[index]
  if (!found) return text(404, 'No such attachment')
  const body = typeof found.content === 'string' ? found.content : Buffer.from(found.content as ArrayBuffer)
  return { type: 'application/octet-stream', body, fileName: found.filename ?? 'attachment' }
}

const html = (body: string, policy: string): Answer => ({ type: 'text/html', body, policy })
const text = (status: number, body: string | Uint8Array): Answer => ({ status, type: 'text/plain', body })
const json = (value: unknown): Answer => ({
  type: 'application/json',
  // The contents of attachments are files of their own.
  body: `${JSON.stringify(value, (key, item: unknown) => (key === 'content' ? undefined : item), 2)}\n`,
})

function send(response: ServerResponse, result: Answer): void {
  response.writeHead(result.status ?? 200, {
    'content-type': `${result.type}; charset=utf-8`,
    'content-security-policy': result.policy ?? "default-src 'none'; frame-ancestors 'self'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...(result.fileName && {
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(result.fileName)}`,
    }),
  })
  response.end(result.body)
}

/** Tells a page that is open when to look again. */
function streamChanges(store: MailStore, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.write(': listening\n\n')
  const end = store.onChange(() => response.write('data: changed\n\n'))
  response.once('close', end)
}
