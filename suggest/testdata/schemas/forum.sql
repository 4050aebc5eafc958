-- A forum: comments on others' posts, votes, reports with a moderator, friends, soft delete, messages between two, secrets.
-- person: forum_user.id
-- protected: forum_user, post, comment, vote, report, login_attempt, draft, profile, bookmark
-- reference: device
-- asked: friendship, private_message, oauth_token, rate_limit, spam_word_log, upload
-- public: badge, topic_kind, board, tag, board_tag
-- hidden: forum_user.username, forum_user.email, forum_user.password, forum_user.signature, forum_user.avatar, post.title, post.body, comment.body, report.moderator_id, report.reason, profile.bio, profile.website, login_attempt.ip, login_attempt.user_agent, draft.content, profile.full_name
-- open: forum_user.created_at, forum_user.country, post.board_id, post.views, comment.post_id, vote.value, profile.timezone, login_attempt.succeeded
CREATE TABLE badge (id int PRIMARY KEY, name text, level int);
CREATE TABLE topic_kind (id int PRIMARY KEY, name text);
CREATE TABLE board (id int PRIMARY KEY, name text, position int, kind_id int REFERENCES topic_kind);
CREATE TABLE tag (id int PRIMARY KEY, name text);
CREATE TABLE board_tag (board_id int REFERENCES board, tag_id int REFERENCES tag, PRIMARY KEY (board_id, tag_id));
CREATE TABLE device (id int PRIMARY KEY, fingerprint text, kind text);
CREATE TABLE forum_user (id int PRIMARY KEY, username text UNIQUE, email text UNIQUE, password char(60), signature text, avatar text, country text, created_at timestamptz, deleted_at timestamptz);
CREATE TABLE profile (user_id int PRIMARY KEY REFERENCES forum_user, full_name text, bio text, website text, timezone text);
CREATE TABLE post (id int PRIMARY KEY, author_id int NOT NULL REFERENCES forum_user, board_id int REFERENCES board, title text, body text, views int, edited_by int REFERENCES forum_user, last_comment_id int);
CREATE TABLE comment (id int PRIMARY KEY, post_id int NOT NULL REFERENCES post, user_id int NOT NULL REFERENCES forum_user, parent_id int REFERENCES comment, body text);
ALTER TABLE post ADD FOREIGN KEY (last_comment_id) REFERENCES comment;
CREATE TABLE vote (user_id int REFERENCES forum_user, post_id int REFERENCES post, value int CHECK (value IN (-1, 1)), PRIMARY KEY (user_id, post_id));
CREATE TABLE bookmark (user_id int REFERENCES forum_user, post_id int REFERENCES post, PRIMARY KEY (user_id, post_id));
CREATE TABLE report (id int PRIMARY KEY, reporter_id int NOT NULL REFERENCES forum_user, moderator_id int REFERENCES forum_user, post_id int REFERENCES post, reason text);
CREATE TABLE login_attempt (id int PRIMARY KEY, user_id int REFERENCES forum_user, device_id int REFERENCES device, ip inet, user_agent text, succeeded boolean);
CREATE TABLE draft (id int PRIMARY KEY, user_id int NOT NULL REFERENCES forum_user, content text);
CREATE TABLE friendship (user_a int REFERENCES forum_user, user_b int REFERENCES forum_user, since date, PRIMARY KEY (user_a, user_b));
CREATE TABLE private_message (id int PRIMARY KEY, sender_id int NOT NULL REFERENCES forum_user, receiver_id int NOT NULL REFERENCES forum_user, body text);
CREATE TABLE oauth_token (id int PRIMARY KEY, token text, scope text);
CREATE TABLE rate_limit (id int PRIMARY KEY, route text, per_minute int);
CREATE TABLE spam_word_log (id int PRIMARY KEY, word text, seen timestamp);
CREATE TABLE upload (id int PRIMARY KEY, owner_type text, owner_id int, path text);
