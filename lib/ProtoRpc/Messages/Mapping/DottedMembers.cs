using System.Collections.Specialized;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Members whose names are paths, <c>location.site</c>, gathered by the field at the start of the
/// path.</summary>
internal sealed class DottedMembers
{
    private readonly List<Group> _groups = [];

    public IReadOnlyList<Group> Groups => _groups;

    /// <summary>The field at the start of a path, and the rest of the path;
    /// null where the name is none.</summary>
    public static (FieldLayout Field, string Path)? Split(MessageLayout layout, string name)
    {
        // The name of an extension contains dots: [package.name].
        int start = name.StartsWith('[') ? Math.Max(name.IndexOf(']'), 0) : 0;
        int dot = name.IndexOf('.', start);
        if (dot <= 0 || dot == name.Length - 1 || layout.Find(name[..dot]) is not { } field)
        {
            return null;
        }
        bool hasMembers = field.IsMap || (field.IsMessage && !field.IsRepeated);
        return hasMembers ? (field, name[(dot + 1)..]) : null;
    }

    /// <returns>False where the rest of the path is there already.</returns>
    public bool TryAdd(FieldLayout field, string rest, object? value)
    {
        Group? group = _groups.Find(known => known.Field == field);
        if (group is null)
        {
            group = new(field);
            _groups.Add(group);
        }
        return group.TryAdd(rest, value);
    }

    /// <summary>A part of a row.</summary>
    public sealed class Row() : OrderedDictionary(StringComparer.Ordinal);

    /// <summary>The members of one field.</summary>
    public sealed class Group(FieldLayout field)
    {
        public FieldLayout Field { get; } = field;

        /// <summary>The members, by the rest of their paths.</summary>
        public Row Members { get; } = new();

        /// <summary>Whether no member says anything:
        /// the cells of a message that is absent are all empty.</summary>
        public bool IsEmpty { get; private set; } = true;

        public bool TryAdd(string rest, object? value)
        {
            if (Members.Contains(rest))
            {
                return false;
            }
            bool isEmpty = value is null or "";
            IsEmpty &= isEmpty;
            // The empty cell of a map is no entry, unless its values are text.
            if (!Field.IsMap || !isEmpty || (value is not null && CellText.IsText(Field.Value)))
            {
                Members.Add(rest, value);
            }
            return true;
        }
    }
}
