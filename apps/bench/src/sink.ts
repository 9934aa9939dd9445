/** A mail server that takes everything and keeps who it was for: a process of its own, which tells its parent when asked. */
import { createServer, type AddressInfo } from 'node:net'

const receipts: string[] = []

const server = createServer((socket) => {
  let waiting = ''
  let recipient: string | undefined
  let isData = false
  const answer = (line: string) => void socket.write(`${line}\r\n`)

  function take(line: string) {
    if (isData) {
      if (line !== '.') return
      isData = false
      receipts.push(recipient ?? '')
      return answer('250 taken')
    }
    const command = line.slice(0, 4).toUpperCase()
    if (command === 'RCPT') recipient = /<(.*?)>/.exec(line)?.[1]
    isData = command === 'DATA'
    if (command === 'QUIT') return void socket.end('221 bye\r\n')
    answer(isData ? '354 go on' : command === 'EHLO' ? '250-sink\r\n250 PIPELINING' : '250 fine')
  }

  // Else an answer waits for the one before it to be acknowledged.
  socket.setNoDelay()
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('data', (chunk: string) => {
    const lines = (waiting + chunk).split('\r\n')
    waiting = lines.pop() ?? ''
    for (const line of lines) take(line)
  })
  answer('220 sink')
})

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => process.send?.(receipts.splice(0)))
process.on('disconnect', () => {
  server.close()
  server.unref()
})
