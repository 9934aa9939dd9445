/** Faults of a Citus cluster, amid writes, deliveries and a campaign: a workspace moves, and a server stops. */
import { setTimeout as pause } from 'node:timers/promises'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { controlNode, isControllable } from '@rapport/testing/postgres/citus-cluster.ts'
import { withAdminClient } from '@rapport/testing/postgres/database.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { addConfirmedSubscribers, readRecipientCounts } from './campaign-recipients.ts'
import { countOpenWork, type Stack, startStack } from './stack.ts'

const recipients = 300
const workspaceCount = 6
let stack: Stack
let receiver: HttpReceiver
let workspaces: Workspace[]

beforeEach(async () => {
  stack = await startStack('redis')
  receiver = await startHttpReceiver()
  workspaces = []
  for (let count = 0; count < workspaceCount; count += 1) workspaces.push(await createWorkspace())
})
afterEach(async () => {
  await stack.close()
  await receiver.close()
})

test('workspaces that move to another server lose nothing, and send nothing twice', async () => {
  const campaign = await startCampaign()
  const traffic = startTraffic()
  await stack.inbox.waitFor(20, 30_000)
  for (const { uuid } of workspaces) {
    // Citus rejects a move while the shards that the one before left behind are in use: an operator repeats it.
    await waitUntil(() => moveToOtherServer(uuid), { describe: 'the workspace moves', timeoutMs: 60_000 })
  }
  await traffic.stop()
  await expectNothingLost()
  await expectNoMailTwice(campaign)
})

const lastPort = 5522
// The test stops a server that ops/citus/test-cluster.sh has started.
const hasControl = isControllable(lastPort)

test.skipIf(!hasControl)('a server that stops and starts loses nothing, and others are read', async () => {
  const campaign = await startCampaign()
  const traffic = startTraffic()
  await stack.inbox.waitFor(20, 30_000)
  await controlNode('stop-node', lastPort)
  await pause(3_000)
  const reads = await Promise.all(workspaces.map(({ key }) => stack.api.call('GET', '/contacts', { key })))
  const statuses = workspaces.map(({ port }, index) => [port === lastPort, reads[index]?.status])
  await controlNode('start-node', lastPort)
  expect(statuses).toEqual(workspaces.map(({ port }) => (port === lastPort ? [true, 503] : [false, 200])))
  const resumed = workspaces.map(({ acknowledged }) => acknowledged.length)
  await waitUntil(() => workspaces.every(({ acknowledged }, index) => acknowledged.length > (resumed[index] ?? 0)), {
    describe: 'every workspace is written again',
    timeoutMs: 90_000,
  })
  await traffic.stop()
  await endInterruptedCommits()
  await expectNothingLost()
  await expectNoMailTwice(campaign)
})

/** A commit that a server did not finish holds locks there. Citus ends such commits once a minute, or when asked. */
async function endInterruptedCommits() {
  const selectLeft = 'select count(*) from pg_prepared_xacts where database = current_database()'
  const isNoneLeft = async () => {
    await stack.database.pool.query('select recover_prepared_transactions()')
    const { rows } = await stack.database.pool.query('select result from run_command_on_all_nodes($1)', [selectLeft])
    return rows.every(({ result }) => result === '0')
  }
  await waitUntil(isNoneLeft, { describe: 'no commit is interrupted', timeoutMs: 90_000 })
}

const selectPlacement = `select shardid as shard, nodename as host, nodeport as port from pg_dist_shard_placement
  where shardid = get_shard_id_for_distribution_column('contacts', $1::uuid)`

interface Workspace {
  key: string
  id: string
  uuid: string
  /** Of its server. */
  port: number
  /** The addresses of contacts that the API has acknowledged. */
  acknowledged: string[]
}

async function createWorkspace(): Promise<Workspace> {
  const { key, workspaceId } = await stack.api.createWorkspace()
  const body = { url: receiver.url, eventTypes: ['contact.created'] }
  expect(await stack.api.call('POST', '/webhooks', { key, body })).toMatchObject({ status: 201 })
  const uuid = uuidOf(Id('wsp').parse(workspaceId))
  const { rows } = await stack.database.pool.query<{ port: number }>(selectPlacement, [uuid])
  return { key, id: workspaceId, uuid, port: rows[0]?.port ?? 0, acknowledged: [] }
}

/** Creates contacts in every workspace. A request that fails is repeated with its idempotency key, as the SDK does. */
function startTraffic() {
  const stopping = new AbortController()
  const unexpected: number[] = []
  const write = async ({ key, acknowledged }: Workspace, email: string) => {
    const request = { key, body: { email }, headers: { 'idempotency-key': email } }
    let status = 503
    while (status === 503) {
      await pause(20)
      status = await stack.api.call('POST', '/contacts', request).then((response) => response.status)
    }
    if (status === 201) acknowledged.push(email)
    else unexpected.push(status)
  }
  const running = workspaces.map(async (workspace) => {
    for (let n = 0; !stopping.signal.aborted; n += 1) await write(workspace, `person${n}@example.com`)
  })
  return {
    async stop() {
      stopping.abort()
      await Promise.all(running)
      expect(unexpected).toEqual([])
    },
  }
}

async function moveToOtherServer(uuid: string): Promise<boolean> {
  return withAdminClient(stack.database.url, async (client) => {
    const { rows } = await client.query<{ shard: string; host: string; port: number }>(selectPlacement, [uuid])
    const [from] = rows
    if (!from) return false
    const { rowCount } = await client.query(
      `select citus_move_shard_placement($1, $2, $3, nodename, nodeport) from (
         select nodename, nodeport from pg_dist_node where shouldhaveshards and nodeport <> $3
         order by nodeport limit 1) as target`,
      [from.shard, from.host, from.port],
    )
    return rowCount === 1
  })
}

/** Every acknowledged contact exists once, with one delivery, which was received once or is shown as INTERRUPTED. */
async function expectNothingLost() {
  await waitUntil(async () => (await countOpenWork(stack)) === 0, { describe: 'all work is done', timeoutMs: 120_000 })
  const received = receiver.requests.map(({ headers }) => String(headers['webhook-id']))
  expect(new Set(received).size).toBe(received.length)
  for (const { uuid, acknowledged } of workspaces) {
    const { rows: contacts } = await stack.database.pool.query<{ email: string }>(
      `select email from contacts where workspace_id = $1 `,
      [uuid],
    )
    expect(contacts.map(({ email }) => email).toSorted()).toEqual(acknowledged.toSorted())
    const { rows: deliveries } = await stack.database.pool.query<{ status: string; email: string }>(
      `select d.status, e.data ->> 'email' as email from deliveries d
       join events e on e.workspace_id = d.workspace_id and e.id = d.event_id where d.workspace_id = $1`,
      [uuid],
    )
    expect(deliveries.map(({ email }) => email).toSorted()).toEqual(acknowledged.toSorted())
    expect(deliveries.filter(({ status }) => status !== 'SUCCEEDED' && status !== 'INTERRUPTED')).toEqual([])
  }
}

interface Campaign {
  id: string
  key: string
}

/** Starts a campaign that takes some seconds. */
async function startCampaign(): Promise<Campaign> {
  stack.inbox.decide(() => ({ delayMs: 100 }))
  const { api } = stack
  const { key, workspaceId } = await api.createWorkspace()
  const list = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Everyone' } })
  await addConfirmedSubscribers(stack.database, { workspaceId, listId: list.body.id }, recipients)
  const body = { name: 'News', subject: 'News', listId: list.body.id }
  const { id } = (await api.call<{ id: string }>('POST', '/campaigns', { key, body })).body
  expect(await api.call('POST', `/campaigns/${id}/send`, { key })).toMatchObject({ status: 202 })
  return { id, key }
}

async function expectNoMailTwice({ id, key }: Campaign) {
  const read = () => stack.api.call<{ status: string }>('GET', `/campaigns/${id}`, { key })
  await waitUntil(async () => (await read()).body.status === 'SENT', {
    describe: 'the campaign is SENT',
    timeoutMs: 90_000,
  })
  const counts = await readRecipientCounts(stack.database, id)
  expect(counts).toMatchObject({ queued: recipients, pending: 0, failed: 0, skipped: 0 })
  const addressees = stack.inbox.mails.filter(({ subject }) => subject === 'News').map(({ to }) => to[0])
  expect(new Set(addressees).size).toBe(addressees.length)
  expect(addressees.length).toBeGreaterThanOrEqual(counts.sent)
  expect(addressees.length).toBeLessThanOrEqual(counts.sent + counts.interrupted)
}
