using System.Reflection;

namespace ProtoRpc.Loader;

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
    public static TypeAccelerators? Of(Assembly shell)
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
