const { login } = await import(`./${process.argv[2]}`)
await login(JSON.parse(process.argv[3]))
