/** A receiver in a process of its own: takes every request, but for /hang, and tells its parent what came when. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Path, id of the event, and moment of each request, by the clock that all processes of a machine share. */
export type Receipt = [path: string, id: string, at: bigint]

let receipts: [string, string, string][] = []
const server = createServer((request, response) => {
  const { url = '', headers } = request
  receipts.push([url, String(headers['webhook-id']), String(process.hrtime.bigint())])
  request.resume().on('end', () => {
    if (url !== '/hang') response.end()
  })
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => {
  process.send?.(receipts)
  receipts = []
})
process.on('disconnect', () => {
  server.close()
  server.closeAllConnections()
})
