/** A receiver in a process of its own: takes every request, but for /hang, and tells its parent what came when. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { goodCertificate, testKey } from '@rapport/testing/network/certificates.ts'

/** Path, id of the event, and moment of each request, by the clock that all processes of a machine share. */
export type Receipt = [path: string, id: string, at: bigint]

const { values: flags } = parseArgs({ options: { tls: { type: 'boolean' } } })

let receipts: [string, string, string][] = []
const take = (request: IncomingMessage, response: ServerResponse) => {
  const { url = '', headers } = request
  receipts.push([url, String(headers['webhook-id']), String(process.hrtime.bigint())])
  request.resume().on('end', () => {
    if (url !== '/hang') response.end()
  })
}
const server = flags.tls ? createTlsServer({ key: testKey, cert: goodCertificate }, take) : createServer(take)
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => {
  process.send?.(receipts)
  receipts = []
})
process.on('disconnect', () => {
  server.close()
  server.closeAllConnections()
})
