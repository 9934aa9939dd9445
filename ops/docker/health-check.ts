/**
 * The health check of the image. A container runs the API or the worker, so one of the two ports responds. The exit code
 * is 0 if it responds with 2xx, otherwise 1.
 */
const checks = [process.env['PORT'], process.env['WORKER_PORT']].map(async (port) => {
  const { ok, status } = await fetch(`http://127.0.0.1:${port}/health`)
  if (!ok) throw new Error(`The response is ${status}`)
})
await Promise.any(checks)
