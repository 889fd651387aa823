using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers the request of a ping, with the extensions that the schema declares.</summary>
internal sealed class PingMessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Types(bound)
        .Select(type => Candidate.OfScript(
            ScriptLiteral.Of(ShellMapper.Create(asHashtable: true).Template(type)), type.FullName));

    internal override TableShape? TableOf(IDictionary bound) => TableShape.OfMessage(Types(bound));

    private static IEnumerable<RpcMessageInfo> Types(IDictionary bound) => SchemasOf(bound)
        .Cast<RpcSchema?>()
        .DefaultIfEmpty(null)
        .Select(schema => PingProtocol.InfoIn(schema).RequestType);
}
