/**
 * A webhook receiver in a separate process. It never responds to /hang, responds to /slow/300 after 300 ms, and reports
 * receipts to the parent process.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { goodCertificate, testKey } from '@rapport/testing/network/certificates.ts'

/** Path, event id, and the time on the monotonic clock, which all processes of a machine share. */
export type Receipt = [path: string, id: string, at: bigint]

const { values: flags } = parseArgs({ options: { tls: { type: 'boolean' } } })

let receipts: [string, string, string][] = []
const onRequest = (request: IncomingMessage, response: ServerResponse) => {
  const { url = '', headers } = request
  receipts.push([url, String(headers['webhook-id']), String(process.hrtime.bigint())])
  request.resume().on('end', () => {
    const [, slowMs] = /^\/slow\/(\d+)/.exec(url) ?? []
    if (slowMs !== undefined) setTimeout(() => response.end(), Number(slowMs))
    else if (url !== '/hang') response.end()
  })
}
const server = flags.tls ? createTlsServer({ key: testKey, cert: goodCertificate }, onRequest) : createServer(onRequest)
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => {
  process.send?.(receipts)
  receipts = []
})
process.on('disconnect', () => {
  server.close()
  server.closeAllConnections()
})
