using System.Text.RegularExpressions;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Distinguishes a protoc that is too old from an invalid schema.</summary>
internal static partial class ProtocVersion
{
    private const string Oldest = "25.0";

    /// <summary>Checks what protoc wrote before it failed.</summary>
    /// <exception cref="RpcException">FailedPrecondition:
    /// it does not know an option that ProtoRpc uses.</exception>
    public static void RequireFor(string protoc, string text, TimeSpan timeout)
    {
        if (UnknownOption().Match(text) is not { Success: true } option)
        {
            return;
        }

        string said = ProtocProcess.Run(protoc, ["--version"], Path.GetTempPath(), timeout).Text;
        Match version = Version().Match(said);
        string name = version.Success ? $"is version {version.Value}" : "does not report its version";
        throw new RpcException(
            RpcStatusCode.FailedPrecondition,
            $"'{protoc}' {name}, which is too old: it does not support the "
            + $"option {option.Groups["option"].Value}. ProtoRpc needs protoc {Oldest} or later. Install a "
            + "current one (from github.com/protocolbuffers/protobuf/releases, or 'Grpc.Tools' from NuGet) "
            + "and put its path into the environment variable PROTOC. If PROTOC names this one, remove the "
            + "variable: the module includes its own protoc.")
        {
            ErrorId = RpcErrorIds.ProtocTooOld,
        };
    }

    // 3.x says "Missing value for flag" of a flag that it does not know, because its own all have values.
    [GeneratedRegex(
        @"^(?:Missing value for flag|Unknown flag): (?<option>--[a-z_]+)", RegexOptions.Multiline)]
    private static partial Regex UnknownOption();

    [GeneratedRegex(@"\d+(?:\.\d+)+")]
    private static partial Regex Version();
}
