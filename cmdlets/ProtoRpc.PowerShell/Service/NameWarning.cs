using ProtoRpc.Commands;

namespace ProtoRpc.PowerShell.Service;

/// <summary>The warning of Import-RpcService and Export-RpcService about commands that got a longer
/// name.</summary>
internal static class NameWarning
{
    private const int MaxNames = 10;

    /// <summary>The text; null if no command got a longer name.</summary>
    public static string? Of(ServicePlan plan)
    {
        string[] names = [.. plan.Renamed.Select(pair => $"{pair.Command.Name} (not {pair.Shorter})")];
        return names.Length == 0
            ? null
            : (names.Length == 1
                ? "1 command has a longer name"
                : $"{names.Length} commands have longer names")
                + ", because PowerShell or ProtoRpc has a command with the shorter name: "
                + $"{string.Join(", ", names.Take(MaxNames))}{(names.Length > MaxNames ? ", ..." : "")}. "
                + "Use -Prefix to give other names.";
    }
}
