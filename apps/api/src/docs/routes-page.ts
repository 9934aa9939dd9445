/** `docs/routes.md`: the whole API on one page, for people who read or change the code. */
import type { RouteOptions } from 'fastify'
import { isWrappedBy } from '../http/handlers/wrap-handler.ts'
import { defaultMax } from '../http/rate-limit/rate-limit.ts'
import { toOperation, toRole } from './route-tables.ts'

const introduction = `# Routes

Every operation of the API, and what happens around its handler. \`npx --yes pnpm routes:generate\` writes this page from
the routes, and a test compares it. It leaves out HEAD, the documentation (\`/docs\`, \`/llms.txt\`) and the dashboard
(\`/queues\`). [Architecture](architecture.md) explains the folders.

A request passes these steps in this order. Each is a plugin that [\`app.ts\`](../apps/api/src/app.ts) registers:

| Step | What happens | File in \`apps/api/src/http\` |
|---|---|---|
| 1 | The request gets an id, \`baseCtx\` and the security headers. A local installation refuses other hosts; at the host of a workspace, only its public pages exist. | [\`request-context.ts\`](../apps/api/src/http/request-context.ts), [\`own-host.ts\`](../apps/api/src/http/hosts/own-host.ts), [\`workspace-hosts.ts\`](../apps/api/src/http/hosts/workspace-hosts.ts) |
| 2 | The rate limit counts the request, per client and operation (column *Limit*, requests per minute). | [\`rate-limit/\`](../apps/api/src/http/rate-limit/rate-limit.ts) |
| 3 | The credential is checked and gives \`ctx\`: workspace, actor and role. Column *Role* has the lowest role, or – without a credential. A suspended workspace can only be read. | [\`authentication.ts\`](../apps/api/src/http/authentication.ts), [\`required-role.ts\`](../apps/api/src/http/required-role.ts) |
| 4 | The request waits while its workspace has too many concurrent requests or *expensive reads*, except with *own quota*. | [\`concurrent-requests.ts\`](../apps/api/src/http/concurrent-requests.ts), [\`expensive-reads.ts\`](../apps/api/src/http/expensive-reads.ts) |
| 5 | The body is parsed, except with *streams the body*. Zod validates path, query and body. | [\`body/\`](../apps/api/src/http/body/json-body.ts), [\`schema-compilers.ts\`](../apps/api/src/http/schema-compilers.ts) |
| 6 | \`If-Match\` is rejected on changes without *ifMatch*. | [\`conditional-requests/\`](../apps/api/src/http/conditional-requests/conditional-requests.ts) |
| 7 | The handler runs, in what the route wraps it in (column *Around the handler*). | [\`routes/\`](../apps/api/src/routes) |
| 8 | Zod serializes the response. A single record gets its \`ETag\`. | [\`conditional-requests/\`](../apps/api/src/http/conditional-requests/conditional-requests.ts) |
| – | An error of any step becomes JSON with a \`code\` and a \`docUrl\`. | [\`errors/\`](../apps/api/src/http/error-handler.ts) |

What a route says about its handler:

| Around the handler | Effect |
|---|---|
| *idempotent* | [\`idempotent(…)\`](../apps/api/src/http/handlers/idempotency.ts): with \`Idempotency-Key\`, the handler runs in the transaction that stores its response, and \`request.ctx.db\` is this transaction. A repetition gets the stored response. With \`idempotentAfter(…)\`, the handler first waits for DNS or for its turn, and only \`commitOnce\` runs in the transaction. |
| *ifMatch* | [\`ifMatch(…)\`](../apps/api/src/http/conditional-requests/if-match.ts): with \`If-Match\`, the handler runs in a transaction that has locked the record and compared its \`ETag\`, and \`request.ctx.db\` is this transaction. With \`ifMatchAfter(…)\`, the \`ETag\` is also compared before, without a lock; then the handler waits for the rendering thread, and only \`commitIfMatch\` runs in the transaction. |
| *ETag* | The response has an \`ETag\`, and \`If-None-Match\` returns 304. Other responses with the same schema have the \`ETag\` too. |
| *recognizes repetitions* | The handler itself uses \`Idempotency-Key\` to find an earlier submission. |
| *streams the body* | The handler reads the body while it arrives, without a time limit for the whole. Only its last step runs in the transaction of *idempotent*: [\`idempotentUpload(…)\`](../apps/api/src/http/uploads/idempotent-upload.ts). |
| *own quota* | The request may take minutes. It does not count as a concurrent request. |
| *expensive read* | The request may read all records of the workspace, as a listing with \`search\`, \`count\`, \`sort\`, \`filter\`, \`segmentId\`, \`tag\`, \`type\` or a custom field may. Two of a workspace run at a time while another one sends requests. |
| *also if suspended* | The operation works in a suspended workspace, although it is not a GET. |
| – | The handler runs once, and its verbs open the transactions that they need. |

A public handler that must not reveal whether an address is known calls
[\`roundUpDuration\`](../apps/api/src/http/constant-time.ts) itself.
`

/** `files` names the sources by the tag of their routes, relative to `docs`. */
export function renderRoutesPage(routes: readonly RouteOptions[], files: Readonly<Record<string, string[]>>): string {
  const sections = [...Map.groupBy(routes, ({ schema }) => schema?.tags?.[0] ?? '')].map(([tag, ofTag]) => {
    const links = (files[tag] ?? []).map((path) => `[\`${path.split('/').at(-1)}\`](${path})`)
    return [
      `## ${tag}\n`,
      `${links.join(', ')}\n`,
      '| Operation | operationId | Role | Limit | Around the handler |',
      '|---|---|---|---|---|',
      ...ofTag.map(toRow),
      '',
    ].join('\n')
  })
  return [introduction, ...sections].join('\n')
}

function toRow(route: RouteOptions): string {
  const cells = [
    toOperation(route),
    `\`${route.schema?.operationId}\``,
    toRole(route),
    toLimit(route),
    around(route).join(', ') || '–',
  ]
  return `| ${cells.join(' | ')} |`
}

function toLimit({ config }: RouteOptions): string {
  const limit = config?.rateLimit
  return limit === false ? 'none' : String(limit?.max ?? defaultMax)
}

function around(route: RouteOptions): string[] {
  const { etag, recognizesRepetition, streamsBody, hasOwnQuota, isExpensive, worksWhenSuspended } = route.config ?? {}
  return [
    isWrappedBy('idempotent', route) && 'idempotent',
    isWrappedBy('ifMatch', route) && 'ifMatch',
    etag !== undefined && 'ETag',
    recognizesRepetition && 'recognizes repetitions',
    streamsBody && 'streams the body',
    hasOwnQuota && 'own quota',
    isExpensive && 'expensive read',
    worksWhenSuspended && 'also if suspended',
  ].filter((text) => typeof text === 'string')
}
