import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isSameSecret } from '@rapport/core/kernel/crypto.ts'
import { script } from './assets.ts'
import { basicAuthorization } from './credentials.ts'
import type { Credentials } from './credentials.ts'
import type { Mail, MailStore } from './mail-store.ts'
import { inboxPage, mailDocument, textDocument } from './pages.ts'
import type { View } from './pages.ts'

interface WebResponse {
  readonly status?: number
  readonly type: 'text/html' | 'text/plain' | 'application/json' | 'application/octet-stream'
  readonly body: string | Uint8Array
  /** The Content-Security-Policy; the default allows nothing. */
  readonly policy?: string
  readonly fileName?: string
  /** The `WWW-Authenticate` header, with which a browser asks for the credentials. */
  readonly challenge?: string
}

const scriptHash = createHash('sha256').update(script).digest('base64')
const pagePolicy =
  `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${scriptHash}'; connect-src 'self'; ` +
  "img-src data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
/** A mail may load remote images and styles, as in a mail program, and open links, but run no scripts. */
const mailPolicy =
  "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; img-src * data:; style-src * 'unsafe-inline'; " +
  "font-src * data:; media-src *; form-action 'none'; frame-ancestors 'self'"
const pageLength = 200
const jsonLength = 20

/**
 * Shows the store in a browser at `/` and as JSON at `/email`. Listens on loopback only, and refuses requests without
 * the credentials: other users of the machine and webhooks can connect too.
 */
export async function startWeb(
  store: MailStore,
  { port, credentials }: { port: number; credentials: Credentials },
): Promise<{ stop(): Promise<void> }> {
  const names = new Set(['localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${port}`))
  const authorization = basicAuthorization(credentials)
  const server = createServer((request, response) => {
    const { headers } = request
    // Prevents DNS rebinding: a website could resolve its own host name to this machine and read the response.
    if (!names.has(headers.host ?? '')) return send(response, text(403, 'Open the inbox at localhost'))
    if (!isSameSecret(headers.authorization ?? '', authorization)) return send(response, unauthorized)
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (url.pathname === '/changes') return streamChanges(store, response)
    handleRequest(store, request, url)
      .catch((error: unknown) => text(500, error instanceof Error ? error.message : String(error)))
      .then((content) => send(response, content))
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

async function handleRequest(store: MailStore, request: IncomingMessage, url: URL): Promise<WebResponse> {
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
  if (!mail) return text(404, to ? `No mail to ${to}` : 'Mail not found')
  if (part === undefined) return json(mail)
  if (part === 'attachments') return attachment(mail, Number(index))
  if (part === 'source') return text(200, (await store.source(mail.id)) ?? '')
  // A browser gets a page with links, other clients the plain text.
  return mailBody(mail, part, { asPage: request.headers.accept?.includes('text/html') === true })
}

async function page(store: MailStore, url: URL, to: string | undefined): Promise<string> {
  const id = url.searchParams.get('mail')
  const view = url.searchParams.get('view') as View | null
  return inboxPage({
    mails: await store.list({ to, limit: pageLength }),
    selected: id ? await store.find(id) : undefined,
    view: view ?? undefined,
    to,
  })
}

function mailBody(mail: Mail, part: string, options: { asPage: boolean }): WebResponse {
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

function attachment(mail: Mail, index: number): WebResponse {
  const found = mail.attachments[index]
  if (!found) return text(404, 'Attachment not found')
  const body = typeof found.content === 'string' ? found.content : Buffer.from(found.content as ArrayBuffer)
  return { type: 'application/octet-stream', body, fileName: found.filename ?? 'attachment' }
}

const html = (body: string, policy: string): WebResponse => ({ type: 'text/html', body, policy })
const unauthorized: WebResponse = {
  status: 401,
  type: 'text/plain',
  body: 'The inbox needs the user and password of the dashboard, which "pnpm start" prints\n',
  challenge: 'Basic realm="Rapport inbox", charset="UTF-8"',
}
const text = (status: number, body: string | Uint8Array): WebResponse => ({ status, type: 'text/plain', body })
const json = (value: unknown): WebResponse => ({
  type: 'application/json',
  // The content of attachments is available under /email/{id}/attachments.
  body: `${JSON.stringify(value, (key, item: unknown) => (key === 'content' ? undefined : item), 2)}\n`,
})

function send(response: ServerResponse, content: WebResponse): void {
  response.writeHead(content.status ?? 200, {
    'content-type': `${content.type}; charset=utf-8`,
    'content-security-policy': content.policy ?? "default-src 'none'; frame-ancestors 'self'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...(content.challenge && { 'www-authenticate': content.challenge }),
    ...(content.fileName && {
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(content.fileName)}`,
    }),
  })
  response.end(content.body)
}

/** Sends a server-sent event to an open page after each change. */
function streamChanges(store: MailStore, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.write(': listening\n\n')
  const removeListener = store.onChange(() => response.write('data: changed\n\n'))
  response.once('close', removeListener)
}
