using System.Reflection;
using System.Runtime.CompilerServices;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc.PowerShell.ServiceCommands;

/// <summary>Adds commands to a module of the shell. The shell itself takes cmdlets only from assembly
/// files.</summary>
internal static class PublishedCommands
{
    private const BindingFlags Members = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

    // The members are internal, so another version of PowerShell may lack them.
    private static bool CanExport =>
        typeof(PSModuleInfo).GetMethod("AddExportedCmdlet", Members, [typeof(CmdletInfo)]) is not null;

    private static bool IsSupported =>
        CanExport
        && typeof(CommandInfo).GetProperty("Module", Members)?.SetMethod is not null
        && typeof(CmdletInfo).GetProperty("HelpFile", Members)?.SetMethod is not null;

    /// <summary>Makes the cmdlets, as yet of no module.</summary>
    /// <param name="commands">The commands.</param>
    /// <param name="helpFile">The file with their help; null for none.</param>
    /// <exception cref="RpcException">Unimplemented: this version of PowerShell does not support
    /// it.</exception>
    public static IReadOnlyList<CmdletInfo> Make(IEnumerable<ServiceCommand> commands, string? helpFile)
    {
        if (!IsSupported)
        {
            throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"PowerShell {Version} does not support commands of services. They were tested with "
                + "PowerShell 7.6. Call the methods with Invoke-RpcMethod.");
        }

        ServiceCommandTypes types = new(new TextBudget());
        List<CmdletInfo> cmdlets = [];
        foreach (ServiceCommand command in commands)
        {
            CmdletInfo cmdlet = new(command.Name, types.CreateAttribute(command));
            if (helpFile is not null)
            {
                SetHelpFile(cmdlet, helpFile);
            }

            cmdlets.Add(cmdlet);
        }

        return cmdlets;
    }

    /// <summary>Exports the cmdlets of a module that was loaded before from another module.</summary>
    /// <exception cref="RpcException">Unimplemented: this version of PowerShell does not support
    /// it.</exception>
    public static void Export(PSModuleInfo module, PSModuleInfo loaded)
    {
        if (!CanExport)
        {
            throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"PowerShell {Version} cannot import ProtoRpc again in the same process. ProtoRpc was tested "
                + "with PowerShell 7.6. Start a new shell, and import ProtoRpc only once.");
        }

        foreach (CmdletInfo cmdlet in loaded.ExportedCmdlets.Values)
        {
            Export(module, cmdlet);
        }
    }

    public static void Add(PSModuleInfo module, IEnumerable<CmdletInfo> cmdlets)
    {
        foreach (CmdletInfo cmdlet in cmdlets)
        {
            SetModule(cmdlet, module);
            Export(module, cmdlet);
        }
    }

    private static Version? Version => typeof(PSObject).Assembly.GetName().Version;

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "AddExportedCmdlet")]
    private static extern void Export(PSModuleInfo module, CmdletInfo cmdlet);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_Module")]
    private static extern void SetModule(CommandInfo command, PSModuleInfo module);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_HelpFile")]
    private static extern void SetHelpFile(CmdletInfo cmdlet, string path);
}
