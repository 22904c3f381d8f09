/** Commands that start an agent, by where it runs. They run in a clone of the repository. */
export function agentCommands(url: string, token: string): Readonly<Record<string, string>> {
  // In a container, localhost is the container itself.
  const network = new URL(url).hostname === 'localhost' ? ' --network host' : '';
  return {
    Docker: `docker build --target agent --tag localhost/tocsin/agent:local .
docker run --detach --restart unless-stopped --read-only${network} \\
  -e TOCSIN_URL=${url} \\
  -e AGENT_TOKEN=${token} \\
  localhost/tocsin/agent:local`,
    Kubernetes: `kubectl create secret generic tocsin-agent \\
  --from-literal=AGENT_TOKEN=${token}
helm install tocsin-agent infra/helm/tocsin --values infra/examples/agent/values.yaml \\
  --set image.registry=registry.example.com,agent.url=${url}`,
    'Node.js': `TOCSIN_URL=${url} \\
  AGENT_TOKEN=${token} \\
  node services/agent/dist/main.js`,
  };
}
