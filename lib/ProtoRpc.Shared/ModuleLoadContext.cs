using System.Reflection;
using System.Runtime.Loader;

namespace ProtoRpc;

/// <summary>Loads the module's assemblies where no other module's versions can meet them.</summary>
/// <remarks>
/// This assembly lives in the default context, so that scripts can name its types. Everything else,
/// Google.Protobuf above all, is loaded from the module's folder into this context.
/// </remarks>
public sealed class ModuleLoadContext : AssemblyLoadContext
{
    // One per process: a second import must find the assemblies of the first, or types would differ.
    private static readonly Lock Gate = new();
    private static ModuleLoadContext? s_instance;

    private readonly Assembly _shared = typeof(ModuleLoadContext).Assembly;
    private readonly string _folder;
    private volatile string? _aspNetCore;

    private ModuleLoadContext()
        : base(nameof(ProtoRpc), isCollectible: false)
    {
        _folder = Path.GetDirectoryName(_shared.Location)
            ?? throw new InvalidOperationException("ProtoRpc.Shared.dll must be loaded from a file.");
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

    /// <summary>Finds ASP.NET Core, from where its assemblies are loaded when they are first used. Outside
    /// of the module the program that has this library brings it, and there is nothing to find.</summary>
    /// <exception cref="RpcException">FailedPrecondition with the id AspNetCoreMissing,
    /// and what to install.</exception>
    public static void RequireAspNetCore()
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
        if (assemblyName.Name == _shared.GetName().Name)
        {
            return _shared;
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
}
