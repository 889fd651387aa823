using System.Reflection;
using System.Runtime.Loader;
using ProtoRpc.Loader;

namespace ProtoRpc;

/// <summary>Loads the module's assemblies in a separate context, so that they do not conflict with the
/// versions of other modules.</summary>
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

    // First the folder of this assembly, then its parent. In the packed module, the folder has the assemblies
    // that are compiled ahead of time for one platform; the parent has those for all platforms.
    private readonly string[] _folders;
    private volatile string? _aspNetCore;
    private int _imports;
    private TypeAccelerators? _accelerators;

    private ModuleLoadContext()
        : base(nameof(ProtoRpc), isCollectible: false)
    {
        string own = Path.GetDirectoryName(Own.Location)
            ?? throw new InvalidOperationException("ProtoRpc.Loader.dll must be loaded from a file.");
        string? parent = Path.GetDirectoryName(own);
        _folders = parent is not null && File.Exists(Path.Combine(parent, Path.GetFileName(Own.Location)))
            ? [own, parent]
            : [own];
    }

    /// <summary>Loads the assembly of the cmdlets once per process.</summary>
    public static Assembly LoadCmdlets()
    {
        lock (Gate)
        {
            s_instance ??= new ModuleLoadContext();
            return s_instance.LoadFromAssemblyPath(
                Path.Combine(s_instance._folders[0], "ProtoRpc.PowerShell.dll"));
        }
    }

    /// <summary>Begins an import of the module into a runspace; each runspace imports it separately. The
    /// first import registers an accelerator for each public type of the library and the cmdlets. Scripts
    /// have no other name for types outside the default context.</summary>
    /// <remarks>One call does everything, because each first call from a script to .NET takes about a
    /// millisecond.</remarks>
    /// <param name="shell">The <c>$ExecutionContext</c> of the module.</param>
    /// <param name="loaded">The module of the cmdlets' assembly if an earlier import loaded it; otherwise
    /// null.</param>
    /// <param name="removed">A script block that runs when the module is removed.</param>
    /// <returns>Whether scripts can name the types; false if the shell has no accelerators.</returns>
    public static bool AddImport(object shell, object? loaded, object removed)
    {
        ArgumentNullException.ThrowIfNull(shell);
        // The loader has no reference to PowerShell or to the cmdlets.
        LoadCmdlets().GetType("ProtoRpc.PowerShell.Import.ModuleImport")!.GetMethod("Begin")!.Invoke(
            null, BindingFlags.DoNotWrapExceptions, binder: null, [shell, loaded, removed], culture: null);
        lock (Gate)
        {
            if (s_instance is not { } module)
            {
                return false;
            }

            if (module._imports++ == 0)
            {
                module._accelerators = TypeAccelerators.From(shell.GetType().Assembly);
                module._accelerators?.Add(module.PublicTypes());
            }

            return module._accelerators is not null;
        }
    }

    /// <summary>Counts the removal of the module from a runspace. The last removal also removes the
    /// accelerators.</summary>
    public static void RemoveImport()
    {
        lock (Gate)
        {
            if (s_instance is { _imports: > 0 } module && --module._imports == 0)
            {
                module._accelerators?.Remove(module.PublicTypes());
            }
        }
    }

    /// <summary>Finds ASP.NET Core; its assemblies are loaded on first use. Outside the module this does
    /// nothing, because the program that references the library provides ASP.NET Core.</summary>
    /// <exception cref="RpcException">FailedPrecondition with the id AspNetCoreMissing. The message says what
    /// to install.</exception>
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

        // ASP.NET Core's folder comes before the module's: all parts of ASP.NET Core must have the same
        // version. Assemblies that PowerShell also ships stay separate.
        if (_aspNetCore is { } aspNetCore)
        {
            string part = Path.Combine(aspNetCore, $"{assemblyName.Name}.dll");
            if (File.Exists(part))
            {
                return LoadFromAssemblyPath(part);
            }
        }

        foreach (string folder in _folders)
        {
            string path = Path.Combine(folder, $"{assemblyName.Name}.dll");
            if (File.Exists(path))
            {
                return LoadFromAssemblyPath(path);
            }
        }

        return null;
    }

    private List<Type> PublicTypes() =>
    [
        .. new[] { "ProtoRpc", "ProtoRpc.PowerShell" }
            .SelectMany(name => LoadFromAssemblyName(new AssemblyName(name)).ExportedTypes)
            .Where(type => !type.IsNested),
    ];
}

/// <summary>The shell's table of short names for types, under which it also finds types outside the default
/// load context.</summary>
/// <remarks>The class of the table is not public, so another version of the shell may not have it. The loops
/// are in .NET, because a script that calls a method once per type takes longer than the rest of the
/// import.</remarks>
internal sealed class TypeAccelerators
{
    private readonly Action<string, Type> _add;
    private readonly Func<string, bool> _remove;

    private TypeAccelerators(Action<string, Type> add, Func<string, bool> remove)
    {
        _add = add;
        _remove = remove;
    }

    /// <summary>The table of a shell; null if this version of the shell has none.</summary>
    /// <param name="shell">System.Management.Automation.dll.</param>
    public static TypeAccelerators? From(Assembly shell)
    {
        Type? table = shell.GetType("System.Management.Automation.TypeAccelerators");
        MethodInfo? add = table?.GetMethod(nameof(Add), [typeof(string), typeof(Type)]);
        MethodInfo? remove = table?.GetMethod(nameof(Remove), [typeof(string)]);
        return add is null || remove is null
            ? null
            : new(add.CreateDelegate<Action<string, Type>>(), remove.CreateDelegate<Func<string, bool>>());
    }

    /// <summary>Adds types under their full names.</summary>
    public void Add(IEnumerable<Type> types)
    {
        foreach (Type type in types)
        {
            _add(type.FullName!, type);
        }
    }

    /// <summary>Removes what <see cref="Add"/> added.</summary>
    public void Remove(IEnumerable<Type> types)
    {
        foreach (Type type in types)
        {
            _remove(type.FullName!);
        }
    }
}
