using System.Reflection;
using System.Runtime.Loader;
using ProtoRpc.Loader;

namespace ProtoRpc;

/// <summary>Loads the module's assemblies where no other module's versions can meet them.</summary>
/// <remarks>
/// This assembly and the shared one live in the default context. Everything else, Google.Protobuf above all,
/// is loaded from the module's folder into this context. Scripts name its types through the shell's
/// accelerators, which ProtoRpc.psm1 registers with <see cref="AddImport"/>.
/// </remarks>
public sealed class ModuleLoadContext : AssemblyLoadContext
{
    // One per process: a second import must find the assemblies of the first, or types would differ.
    private static readonly Lock Gate = new();
    private static ModuleLoadContext? s_instance;

    private static readonly Assembly Own = typeof(ModuleLoadContext).Assembly;
    private static readonly Assembly Shared = typeof(RpcEndpoint).Assembly;

    private readonly string _folder;
    private volatile string? _aspNetCore;
    private int _imports;

    private ModuleLoadContext()
        : base(nameof(ProtoRpc), isCollectible: false)
    {
        _folder = Path.GetDirectoryName(Own.Location)
            ?? throw new InvalidOperationException("ProtoRpc.Loader.dll must be loaded from a file.");
    }

    /// <summary>Loads the assembly of cmdlets, once.</summary>
    public static Assembly LoadCmdlets()
    {
        lock (Gate)
        {
            s_instance ??= new ModuleLoadContext();
            return s_instance.LoadFromAssemblyPath(
                Path.Combine(s_instance._folder, "ProtoRpc.PowerShell.dll"));
        }
    }

    /// <summary>Counts an import of the module; each runspace of the process has its own.</summary>
    /// <returns>The types that scripts can name from now on: at the first import all public ones of the
    /// library and of the cmdlets that are outside of the default context, and none later.</returns>
    public static IReadOnlyList<Type> AddImport()
    {
        lock (Gate)
        {
            return s_instance is { } module && module._imports++ == 0 ? module.PublicTypes() : [];
        }
    }

    /// <summary>Counts the removal of the module from a runspace.</summary>
    /// <returns>The types that no script is to name any more: all at the last removal, and none
    /// before.</returns>
    public static IReadOnlyList<Type> RemoveImport()
    {
        lock (Gate)
        {
            return s_instance is { _imports: > 0 } module && --module._imports == 0
                ? module.PublicTypes()
                : [];
        }
    }

    /// <summary>Finds ASP.NET Core, from where its assemblies are loaded when they are first used. Outside
    /// of the module the program that has this library brings it, and there is nothing to find.</summary>
    /// <exception cref="RpcException">FailedPrecondition with the id AspNetCoreMissing,
    /// and what to install.</exception>
    internal static void RequireAspNetCore()
    {
        lock (Gate)
        {
            if (s_instance is { } module)
            {
                module._aspNetCore ??= new AspNetCoreLocator().Find();
            }
        }
    }

    /// <inheritdoc/>
    protected override Assembly? Load(AssemblyName assemblyName)
    {
        foreach (Assembly known in new[] { Own, Shared })
        {
            if (assemblyName.Name == known.GetName().Name)
            {
                return known;
            }
        }

        // Before our own folder: its parts must all be of one version.
        // Whatever the shell brings of them stays apart.
        if (_aspNetCore is { } aspNetCore)
        {
            string part = Path.Combine(aspNetCore, $"{assemblyName.Name}.dll");
            if (File.Exists(part))
            {
                return LoadFromAssemblyPath(part);
            }
        }

        string path = Path.Combine(_folder, $"{assemblyName.Name}.dll");
        return File.Exists(path) ? LoadFromAssemblyPath(path) : null;
    }

    private IReadOnlyList<Type> PublicTypes() =>
    [
        .. new[] { "ProtoRpc", "ProtoRpc.PowerShell" }
            .SelectMany(name => LoadFromAssemblyName(new AssemblyName(name)).ExportedTypes)
            .Where(type => !type.IsNested),
    ];
}
