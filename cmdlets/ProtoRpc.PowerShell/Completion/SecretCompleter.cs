using System.Collections;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers references to secrets in environment variables. Never reads their values.</summary>
internal sealed class SecretCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Environment
        .GetEnvironmentVariables().Keys.Cast<string>()
        .Order(StringComparer.OrdinalIgnoreCase)
        .Select(name => new Candidate($"env:{name}", $"The environment variable {name}"));
}
