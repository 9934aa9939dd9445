/** Fails if the port is in use: before the build, which takes a while and would be in vain. */
import { createServer } from 'node:http'

const server = createServer()
server.once('error', (error) => {
  console.error(`${String(error)}. The variable PORT sets another port.`)
  process.exitCode = 1
})
server.listen(Number(process.env['PORT'] ?? 3100), 'localhost', () => server.close())
