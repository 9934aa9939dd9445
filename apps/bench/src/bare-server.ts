/**
 * The baseline of the API: only Fastify and pg, without API keys, rate limits, validation and events. It uses the same
 * driver and number of connections, prepared statements, rows of the same shape and responses of the same length.
 */
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import Fastify from 'fastify'
import pg from 'pg'
import { bareWorkspace, responseColumns } from './baseline.ts'

interface NewContact {
  email: string
  firstName: string
  lastName: string
}

const { DATABASE_URL, PORT } = inheritedEnvironment()
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 20, keepAlive: true })
const app = Fastify()

function insertInto(table: string) {
  const text = `insert into ${table} (workspace_id, email, first_name, last_name)
    values ($1, $2, $3, $4) returning ${responseColumns}`
  return async ({ email, firstName, lastName }: NewContact) =>
    (await pool.query({ name: table, text, values: [bareWorkspace, email, firstName, lastName] })).rows[0] as unknown
}

for (const table of ['bare_contacts', 'indexed_contacts']) {
  const insert = insertInto(table)
  app.post<{ Body: NewContact }>(`/${table}`, async (request, reply) => {
    reply.code(201)
    return insert(request.body)
  })
}

const readOne = `select ${responseColumns} from bare_contacts where workspace_id = $1 and id = $2`

app.get<{ Params: { id: string } }>('/bare_contacts/:id', async (request) => {
  const { rows } = await pool.query({ name: 'one', text: readOne, values: [bareWorkspace, request.params.id] })
  return rows[0] as unknown
})

const readPage = `select ${responseColumns} from bare_contacts where workspace_id = $1
  order by created_at desc, id desc limit 50`
const nextCursor = 'x'.repeat(100)

app.get('/bare_contacts', async () => {
  const { rows } = await pool.query({ name: 'page', text: readPage, values: [bareWorkspace] })
  return { data: rows as unknown[], nextCursor }
})

let bytes = ''

app.put<{ Body: { bytes: string } }>('/bytes', async (request, reply) => {
  bytes = request.body.bytes
  return reply.code(204).send()
})

app.get('/bytes', (_request, reply) => reply.type('application/json; charset=utf-8').send(bytes))

app.get('/', () => 'here')

await app.listen({ host: '127.0.0.1', port: Number(PORT) })
process.on('disconnect', () => {
  app.server.closeAllConnections()
  void app.close().then(() => pool.end())
})
