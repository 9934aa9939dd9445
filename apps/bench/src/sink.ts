/**
 * An SMTP server in a separate process. It accepts all mails, and reports to the parent process their recipients, with the
 * times of their DATA commands in nanoseconds. It never responds to a recipient at the domain in its parameter.
 */
import { createServer, type AddressInfo } from 'node:net'

/** A message between processes holds no bigint. */
export type Arrival = [recipient: string, dataAt: string]

/** An empty domain ends no address. */
const [, , stallingDomain = ''] = process.argv
const arrivals: Arrival[] = []

const server = createServer((socket) => {
  let waiting = ''
  let recipient: string | undefined
  let dataAt = 0n
  let isData = false
  const respond = (line: string) => void socket.write(`${line}\r\n`)

  function onLine(line: string) {
    if (isData) {
      if (line !== '.') return
      isData = false
      arrivals.push([recipient ?? '', String(dataAt)])
      return respond('250 accepted')
    }
    const command = line.slice(0, 4).toUpperCase()
    if (command === 'RCPT') recipient = /<(.*?)>/.exec(line)?.[1]
    if (command === 'RCPT' && recipient?.endsWith(`@${stallingDomain}`)) return
    isData = command === 'DATA'
    if (isData) dataAt = process.hrtime.bigint()
    if (command === 'QUIT') return void socket.end('221 bye\r\n')
    respond(isData ? '354 send the mail' : command === 'EHLO' ? '250-sink\r\n250 PIPELINING' : '250 OK')
  }

  // Without this, a response waits for the acknowledgment of the previous one (Nagle's algorithm).
  socket.setNoDelay()
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('data', (chunk: string) => {
    const lines = (waiting + chunk).split('\r\n')
    waiting = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
  respond('220 sink')
})

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => process.send?.(arrivals.splice(0)))
process.on('disconnect', () => {
  server.close()
  server.unref()
})
