using System.Diagnostics;

namespace ProtoRpc.PowerShell.Message;

/// <summary>Finds the format that a parameter names.</summary>
internal static class RpcMessageFormatExtensions
{
    public static MessageFormat ToFormat(this RpcMessageFormat name) =>
        MessageFormats.TryFind(name.ToString(), out MessageFormat? format)
            ? format
            : throw new UnreachableException();
}
