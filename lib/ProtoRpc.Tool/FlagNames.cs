using System.Text.RegularExpressions;

namespace ProtoRpc.Tool;

/// <summary>Names the tool's options where texts of the core name parameters of cmdlets.</summary>
internal static partial class FlagNames
{
    /// <summary>The parameters that texts of the core name, and the options that do the same.</summary>
    internal static IReadOnlyDictionary<string, string> Table { get; } = new Dictionary<string, string>
    {
        ["-CACertificate"] = "--cacert",
        ["-ClientCertificate"] = "--cert",
        ["-Credential"] = "--user",
        ["-MaxReceiveSize"] = "--max-msg-sz",
        ["-NtlmAccount"] = "--user",
        ["-Schema"] = "--schema",
        ["-ServerName"] = "--servername",
        ["-Service"] = "--service",
        ["-ServicePrincipalName"] = "--spn",
        ["-SkipCertificateCheck"] = "--insecure",
        ["-Tls"] = "--tls",
        ["-Token"] = "--bearer",
        ["-UserName"] = "--user",
    };

    /// <summary>The text of an error. What a server wrote stays as it is.</summary>
    public static string Of(RpcException error) => error.IsByProtoRpc
        ? Parameter().Replace(error.Message, match => Table.GetValueOrDefault(match.Value, match.Value))
        : error.Message;

    [GeneratedRegex(@"(?<![\w-])-[A-Z]\w+")]
    private static partial Regex Parameter();
}
